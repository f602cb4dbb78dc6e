#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "sotto/core/bytes.hpp"
#include "sotto/core/clock.hpp"
#include "sotto/core/deadline.hpp"
#include "sotto/core/errors.hpp"
#include "sotto/transports/transport.hpp"
#include "sotto/transports/transport_ref.hpp"
#include "sotto/wire/detail/protocols/push.hpp"

namespace sotto::detail {

/// A worker's talk with one server: it pushes, and gets parameters; one push at a time. Where ranks
/// may come and go, a server that failed is waited for; once it is there again the worker begins
/// anew, and what it was pushing is pushed again; rounds that the server has forgotten are counted.
/// A server that has left is not waited for: its job is over. A rank that only serves says to each
/// server that it is done, and no more.
///   errors  peer_failure: the server left before it answered, or was away for too long; mismatch:
///           it refuses this rank; peer_failure of errc::malformed, naming the server
class server_link {
public:
    /// `values`: where the server's parameters go. `patience`: how long a server may be away while
    /// this rank waits; 0: its failure is an error.
    server_link(transport_ref through, int server, std::span<float> values, duration patience);

    /// How this rank is configured, which the server compares.
    void introduce(const std::string& configuration);

    /// The messages of a push, after room for their head.
    bytes& message() noexcept { return push_; }

    /// Pushes what `message` holds, or nothing.
    void push(const wire::push_header& head, std::span<const std::uint64_t> sizes);

    /// Whether the answer is here; `answer` says what it was.
    bool advance();

    /// To a worker that begins it says how many rounds of it the server has had.
    const wire::parameters_header& answer() const noexcept { return answer_; }
    /// Its rank.
    int server() const noexcept { return server_; }

    /// Rounds that the server had acknowledged and that it has no more, since this was last asked.
    std::int64_t take_lost() noexcept { return std::exchange(lost_, 0); }

    /// What this rank does, for errors.
    void at(peer_failure::job_phase now) noexcept { now_ = now; }

    // Where ranks may come and go

    /// `left`: it said that it is done.
    void went(bool left);
    /// The server is there again.
    void came();

private:
    bool is_done() const noexcept { return is_answered_ && !is_greeting_ && !sent_; }
    /// Whether a greeting is under way, after which there is something else to push.
    bool is_greeted() const noexcept { return is_greeting_ && (sent_ || head_due_ || values_due_); }

    void send();

    void move();

    /// Compares what the server says that it has had with what it had acknowledged.
    void count_lost() noexcept;

    /// Whether it is complete; spent in any case if it never will be.
    bool poll(std::optional<request>& r);
    void give_up(std::optional<request>& r);

    mutable_byte_view room();

    void apply_changes();

    [[noreturn]] void be_refused() const;

    std::string what() const { return "what server " + std::to_string(server_) + " answered"; }

    transport_ref through_;
    int server_;
    std::span<float> values_;
    duration patience_;
    bytes push_;
    wire::push_header head_{};
    std::vector<std::uint64_t> sizes_;
    bytes greeting_;
    std::array<std::byte, wire::parameters_header_bytes> head_memory_{};
    std::optional<request> sent_, head_due_, values_due_;
    wire::parameters_header answer_{};
    /// What the server has acknowledged: rounds of this worker up to `rounds`, and a version. An
    /// earlier process of it has lost those from `before` to `again_from`.
    struct acknowledged {
        std::uint64_t rounds = 0, version = 0, before = 0, again_from = 0;
    } known_;
    std::int64_t lost_ = 0;
    bytes changes_;
    std::vector<std::uint32_t> changed_at_;
    std::vector<float> changed_to_;
    std::uint64_t clock_ = 0;  // of the last gradient
    bool is_answered_ = true;
    bool is_away_ = false;
    bool has_left_ = false;
    bool works_ = false;  // it has said more than that it is done
    bool is_greeting_ = false;
    bool resends_ = false;
    waiting_time away_;  // since the server went
    peer_failure::job_phase now_;
};

}  // namespace sotto::detail

#ifndef SOTTO_SEPARATE_COMPILATION
#include "sotto/strategies/detail/parameter_server/server_link.ipp"
#endif
