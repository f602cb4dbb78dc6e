#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "sotto/checkpoint/detail/disk.hpp"
#include "sotto/checkpoint/detail/field_visitor.hpp"
#include "sotto/checkpoint/detail/own_state.hpp"
#include "sotto/core/bytes.hpp"
#include "sotto/core/clock.hpp"
#include "sotto/core/deadline.hpp"
#include "sotto/core/describe.hpp"
#include "sotto/core/detail/memory/large_pages.hpp"
#include "sotto/core/errors.hpp"
#include "sotto/core/layout.hpp"
#include "sotto/optimizers/optimizer.hpp"
#include "sotto/staleness/staleness_compensator.hpp"
#include "sotto/strategies/detail/parameter_server/arrival_order.hpp"
#include "sotto/strategies/detail/parameter_server/memory_of_server.hpp"
#include "sotto/strategies/detail/parameter_server/served_shard.hpp"
#include "sotto/strategies/detail/parameter_server/server_roles.hpp"
#include "sotto/strategies/detail/parameter_server/shard_server.hpp"
#include "sotto/strategies/detail/server_memory.hpp"
#include "sotto/strategies/detail/shard.hpp"
#include "sotto/strategies/parameter_server/serving.hpp"
#include "sotto/strategies/server_report.hpp"
#include "sotto/transports/diagnostics.hpp"
#include "sotto/transports/transport.hpp"
#include "sotto/transports/transport_ref.hpp"
#include "sotto/wire/detail/protocols/push.hpp"

namespace sotto::detail {

/// A server among the ranks: receives pushes, hands them to its shard_server, and sends what that
/// answers. Nothing of it happens but while it is called, and it charges the memory that it touches
/// to the transport.
///
/// Every rank, working or not, says in the end that it is done; once all that are there have, all
/// are sent the parameters once more.
class server_node {
public:
    /// What it serves, and what is known of that without its type.
    struct served {
        std::unique_ptr<served_shard> part{};
        server_memory memory{};
        std::int64_t push_bytes_max = 0;  // the longest push to it
        bool compares = false;            // its compensator asks for what workers have read
        bool can_be_saved = true;         // all of its optimizer
        std::string description{};        // of the strategy, in what it saves and records
        std::string with_tensors{};       // and of all tensors
    };

    /// Serves this part of the tensors. `files`: by which it saves what it holds.
    template <class Options>
    server_node(const Options& options, const layout& tensors, const shard& part,
                const server_roles& roles, transport_ref through, checkpoint::disk files = {})
        : server_node(shard_of(options, tensors, part, roles), options.servers, roles, through,
                      std::move(files)) {}

    server_node(served of, const serving& how, const server_roles& roles, transport_ref through,
                checkpoint::disk files);

    /// What workers must be configured by.
    void introduce(std::string configuration) { configuration_ = std::move(configuration); }

    /// Everything to be saved.
    void visit(const field_visitor& field);

    /// What training begins with; only the first time counts. While it is not known whether another
    /// job has the server's folder, it sends a head to each rank once a second to be in time.
    void begin(std::span<const float> parameters);

    /// Takes what has come, and answers whom it may.
    void serve();

    // Where ranks may come and go

    /// `patience`: how long it waits where no worker is there any more, and none was done.
    void survive(duration patience) noexcept;
    /// `left`: it said that it is done.
    void went(int rank, bool left = false);
    /// A rank is there, or there again.
    void came(int rank);

    /// Whether all ranks were done, and have been sent the parameters.
    bool is_over() const noexcept;
    /// A call of `fit` has ended, also by an exception: another trainer of this process may have
    /// the folder.
    void rest() noexcept;
    /// For another time.
    void begin_again() noexcept;

    /// What it takes, and what it has seen until now.
    const server_memory& memory() const noexcept { return memory_; }
    /// What it did and saw so far.
    server_report report() const;

    /// What takes the steps.
    served_shard& server() noexcept { return *server_; }
    /// What takes the steps.
    const served_shard& server() const noexcept { return *server_; }

private:
    static constexpr std::size_t log_max = 65536;

    template <class Options>
    static served shard_of(const Options& options, const layout& tensors, const shard& part,
                           const server_roles& roles) {
        using optimizer_options = std::remove_cvref_t<decltype(options.optimizer)>;
        using compensator_options = std::remove_cvref_t<decltype(options.compensator)>;
        auto server = std::make_unique<shard_server<Options>>(options, tensors, part,
                                                              roles.workers(), roles.rank_of(0));
        served of{.memory = memory_of(*server, options, roles.workers()),
                  .push_bytes_max = detail::push_bytes_max(*server),
                  .compares = compares_parameters<compensator_options>,
                  .can_be_saved = optimizing::can_be_saved<optimizer_options>};
        description text;
        text.add("strategy", options);
        of.description = text.text();
        for (const tensor& t : tensors) text.add("tensor " + t.name, t.size);
        of.with_tensors = text.text();
        of.part = std::move(server);
        return of;
    }

    struct rank_state {
        bool is_here = true;
        bool is_done = false;
        std::array<std::byte, wire::parameters_header_bytes> head{};
        bytes refusal;
        std::optional<request> head_sent, content_sent;
    };

    rank_state& of(int rank) noexcept { return ranks_[static_cast<std::size_t>(rank)]; }

    void receive();

    bool has_workers() noexcept;

    /// Nothing was trained to its end where every worker failed: they may come again, for a while.
    void require_workers();

    /// Opens what is to be written or followed.
    void prepare_order(const serving& how, std::string configuration);

    /// Takes and answers in the order that was recorded, as far as what has come allows.
    void follow_order();

    /// A rank whose message cannot be read ends the job. Where ranks may leave, it leaves.
    void take(int rank, byte_view content, time_point now);

    void take_in(int rank, byte_view content, time_point now);

    /// Whether a worker cannot take part; it is told why.
    bool refuse(int rank, const wire::configuration_summary& theirs);

    /// A checkpoint from before what the worker has read lacks its rounds since then.
    void count_lost(int worker, const wire::push_header& head);

    void push(int worker, byte_view content, time_point now);

    /// The memory that gradients and their step pass through: messages; the parameters, and what
    /// policies remember of each, read and written; what workers have read, where it is compared.
    /// Gradients of a round are added up before. A step by entries fetches a cache line for each
    /// place in place of all.
    void charge_step(double message, double gradients);

    /// What has changed is found in one pass over a bit a parameter; a cache line an entry.
    void charge_changes(double message);

    /// Of gradients that were taken or dropped. One that waits for the others of its round has led
    /// to nothing: who goes on from a checkpoint without it must get it again.
    void count_pushes();

    /// The first of a worker, the 10th, the 100th: where rounds go without the last gradients they
    /// are many.
    void tell_of_dropped(int worker, std::int64_t count);

    void end_if_all_done();

    /// A disk that fails ends nothing: it is tried again when the next one is due.
    void save();

    void answer_all(time_point now);

    /// Sends to each other rank that this server is not ready yet.
    void delay_all();

    /// The head before it must have been sent.
    void send_head(int rank, const wire::parameters_header& head);

    /// Sends to a rank, which may be gone where that is survived: the transport reports it.
    void unless_gone(int rank, auto send) {
        try {
            send();
        } catch (const peer_failure& e) {
            if (e.rank() != rank || !survives_) throw;
        }
    }

    void answer(int rank, const wire::parameters_header& head, byte_view content);

    void settle(std::optional<request>& sent);

    transport_ref through_;
    server_roles roles_;
    std::unique_ptr<served_shard> server_;
    server_memory memory_;
    bool compares_;
    served_record seen_;
    diagnostics says_;
    std::vector<rank_state> ranks_;
    std::size_t counted_ = 0;           // of the server's log
    std::vector<std::int64_t> rounds_;  // of each worker, since `fit` began
    std::string configuration_;
    large_vector<std::byte> room_;
    std::optional<request> due_;
    bool all_done_ = false;
    bool survives_ = false;
    bool was_done_ = false;  // a worker, in this `fit`
    duration patience_{};
    std::optional<waiting_time> alone_;  // since no worker is there, and none was done
    int last_went_ = 0;
    std::vector<int> answered_;  // by the last look at who may go
    arrivals_of order_of_;
    std::optional<arrival_recorder> recorder_;
    std::optional<arrival_order> order_;  // that is followed
    std::optional<checkpoint::own_state> kept_;
    std::string job_;                                        // that owns its folder
    std::optional<server_saves> saves_;                      // by it
    std::uint64_t every_ = 0, saved_at_ = 0, began_at_ = 0;  // versions
};

}  // namespace sotto::detail

#ifndef SOTTO_SEPARATE_COMPILATION
#include "sotto/strategies/detail/parameter_server/server_node.ipp"
#endif
