#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "sotto/core/clock.hpp"
#include "sotto/core/detail/memory/large_pages.hpp"
#include "sotto/core/layout.hpp"
#include "sotto/strategies/detail/all_reduce/message_codec.hpp"
#include "sotto/strategies/detail/parameter_server/server_link.hpp"
#include "sotto/strategies/detail/parameter_server/server_roles.hpp"
#include "sotto/strategies/detail/parameter_server/server_node.hpp"
#include "sotto/strategies/detail/rank_loss.hpp"
#include "sotto/strategies/detail/shard.hpp"
#include "sotto/strategies/detail/stopwatch.hpp"
#include "sotto/strategies/parameter_server/serving.hpp"
#include "sotto/strategies/round_report.hpp"
#include "sotto/transports/diagnostics.hpp"
#include "sotto/transports/tolerant_transport.hpp"
#include "sotto/transports/transport.hpp"
#include "sotto/transports/transport_ref.hpp"

namespace sotto::detail {

/// What one rank of parameter_server says to servers and hears of them, without the types of model
/// and policies. A rank that serves does it whenever it waits, and when `serve` is called.
class parameter_exchange {
public:
    /// `worked`: the tensors that this rank computes gradients of; none where it only serves.
    /// `remembered`: bytes, by the compressor. The codec is borrowed.
    parameter_exchange(const layout& tensors, const layout& worked, const server_roles& roles,
                       transport_ref through, message_codec& codec, const serving& how,
                       double remembered);
    parameter_exchange(const parameter_exchange&) = delete;
    parameter_exchange& operator=(const parameter_exchange&) = delete;
    ~parameter_exchange() = default;

    /// This rank's part of the tensors, where it serves.
    const shard& own_shard() const noexcept;
    /// This rank serves by this; none where it does not.
    void serve_by(std::unique_ptr<server_node> serving);

    transport_ref through() const noexcept { return through_; }

    /// See strategy.
    bool introduce(const std::string& configuration);

    /// Gets the parameters from the servers; this rank's rounds that any of them has had.
    std::int64_t begin(std::span<float> parameters);

    /// Serves until all ranks are done; then all hold the same parameters.
    void finish(std::span<float> parameters);
    /// Whether some rank has trained, as far as this one knows after `finish`.
    bool has_trained() const noexcept;

    /// A call of `fit` has ended, by an exception or not.
    void end_fit() noexcept;

    // A round of a worker

    /// It begins: the gradient of so many examples is to be computed.
    round_report begin_round(std::int64_t step, std::int64_t examples);
    /// Whose gradient is compressed.
    round_info as_worker(double epoch) const noexcept;
    /// Where the model writes its gradient.
    std::span<float> gradient() noexcept { return gradient_; }
    /// Takes what has come, where this rank serves.
    void serve();
    /// Pushes the gradient, and waits for what the servers make of it.
    void exchange(double epoch, round_report& report, stopwatch& watch);
    /// It is over: these are the parameters now.
    void end_round(std::span<float> parameters, round_report& report, stopwatch& watch);

    // What is so

    /// None where this rank does not serve.
    const server_node* server() const noexcept { return serving_.get(); }
    /// See parameter_server_state.
    std::span<const rank_loss> losses() const noexcept { return losses_; }
    bool servers_forget() const noexcept { return forgets_; }

private:
    /// How long a worker waits for a lost server; 0 where a loss ends the job.
    duration survive(const serving& servers);

    void catch_up() noexcept;

    /// What the servers made of the gradient.
    void settle(round_report& report);

    void at(const char* phase) noexcept;

    /// Refuses what is no number before anything of it is remembered.
    void weigh();

    void push(std::size_t s, double epoch);

    void wait_for_answers();

    std::string told(int rank) const;

    /// The server has come again since it went.
    void note_lost(int server, std::int64_t rounds);

    template <class Done>
    void wait_until(Done done) {
        while (true) {
            const std::uint64_t seen = through_.activity();
            serve();
            if (done()) return;
            if (through_.activity() == seen) through_.await(seen);
        }
    }

    void hear_of_changes();

    layout tensors_;
    transport_ref through_;
    diagnostics says_;
    server_roles roles_;
    message_codec& codec_;
    std::vector<shard> shards_;
    large_vector<float> gradient_;
    large_vector<float> read_;  // the parameters as the servers sent them
    std::vector<std::int64_t> tensor_bytes_;
    std::vector<std::uint64_t> sizes_;
    std::deque<server_link> links_;
    std::unique_ptr<server_node> serving_;
    std::vector<rank_loss> losses_;
    time_point began_{};  // the round
    traffic before_{};
    duration patience_{};
    std::uint64_t clock_ = 0;  // of the last gradient, alike at all servers
    std::int64_t rounds_ = 0;  // of this rank, since `fit` began
    std::int64_t step_ = 0;
    double remembered_;  // bytes, by the compressor
    bool survives_ = false;
    bool forgets_ = false;
};

}  // namespace sotto::detail

#ifndef SOTTO_SEPARATE_COMPILATION
#include "sotto/strategies/detail/parameter_server/parameter_exchange.ipp"
#endif
