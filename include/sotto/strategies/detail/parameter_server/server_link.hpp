#pragma once

#include <algorithm>
#include <array>
#include <chrono>
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
#include "sotto/transports/tolerant_transport.hpp"
#include "sotto/transports/detail/messaging/blame.hpp"
#include "sotto/transports/transport.hpp"
#include "sotto/transports/transport_ref.hpp"
#include "sotto/wire/detail/protocols/push.hpp"
#include "sotto/wire/sparse_block.hpp"

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
    server_link(transport_ref through, int server, std::span<float> values, duration patience)
        : through_(through), server_(server), values_(values), patience_(patience) {
        introduce(wire::summary_of({}));
    }

    /// How this rank is configured, which the server compares.
    void introduce(const wire::configuration_summary& of) {
        greeting_.resize(wire::push_head_bytes(0));
        wire::append_configuration(of, greeting_);
    }

    /// The messages of a push, after room for their head.
    bytes& message() noexcept { return push_; }

    /// Pushes what `message` holds, or nothing.
    void push(const wire::push_header& head, std::span<const std::uint64_t> sizes) {
        head_ = head;
        head_.read = answer_.version;
        works_ = works_ || head.kind != wire::push_kind::done;
        if (head.kind == wire::push_kind::attach) known_ = {};
        if (head.kind == wire::push_kind::gradient) clock_ = head.clock;
        sizes_.assign(sizes.begin(), sizes.end());
        if (head.kind != wire::push_kind::gradient) push_.resize(wire::push_head_bytes(0));
        is_answered_ = false;
        if (!is_away_ && !is_greeted()) send();
    }

    /// Whether the answer is here; `answer` says what it was.
    bool advance() {
        if (is_done()) return true;
        if (has_left_) throw peer_failure(server_, "it left: its job is over", now_);
        if (is_away_) {
            if (away_.at(through_.now()) > patience_)
                throw peer_failure(server_, "it went, and did not come back in time", now_);
            return false;
        }
        try {
            detail::read_from(through_, server_, [this] { move(); });
        } catch (const peer_failure& e) {
            const bool is_own = server_ == through_.rank();  // then this rank's job is over
            if (patience_ <= duration::zero() || e.rank() != server_ || is_own) throw;
            went(false);
        }
        return is_done();
    }

    /// To a worker that begins it says how many rounds of it the server has had.
    const wire::parameters_header& answer() const noexcept { return answer_; }
    /// Its rank.
    int server() const noexcept { return server_; }

    /// Rounds that the server had acknowledged and that it has no more, since this was last asked.
    std::int64_t take_lost() noexcept { return std::exchange(lost_, 0); }

    /// What this rank does, for errors.
    void at(peer_failure::occasion now) noexcept { now_ = now; }

    // Where ranks may come and go

    /// `left`: it said that it is done.
    void went(bool left) {
        has_left_ = has_left_ || left;
        if (std::exchange(is_away_, true)) return;
        away_ = waiting_time(through_.now());
        give_up(sent_);
        give_up(head_due_);
        give_up(values_due_);
        is_greeting_ = resends_ = false;
    }
    /// The server is there again.
    void came() {
        has_left_ = false;
        if (!std::exchange(is_away_, false)) return;
        // It knows nothing of this worker: first it is to say where it stands, at once, since
        // others wait there for its next gradient. A rank that only serves has no rounds, and says
        // no more than that it is done.
        is_greeting_ = works_ && (!is_answered_ || head_.kind != wire::push_kind::done);
        answer_ = {};
        if (!is_answered_ || is_greeting_) send();
    }

private:
    bool is_done() const noexcept { return is_answered_ && !is_greeting_ && !sent_; }
    /// Whether a greeting is under way, after which there is something else to push.
    bool is_greeted() const noexcept { return is_greeting_ && (sent_ || head_due_ || values_due_); }

    void send() {
        // One that begins has nothing to say before that.
        const bool begins = !is_answered_ && head_.kind == wire::push_kind::attach;
        byte_view content;
        if (is_greeting_ && !begins) {
            const bool resends = !is_answered_ && head_.kind == wire::push_kind::gradient;
            wire::write_push_head(
                {.kind = head_.kind == wire::push_kind::attach ? wire::push_kind::attach
                         : resends                             ? wire::push_kind::resend
                                                               : wire::push_kind::resume,
                 .round = known_.rounds,
                 .read = known_.version,
                 .clock = clock_ - (resends ? 1 : 0)},
                {}, greeting_.data());
            content = greeting_;
        } else {
            is_greeting_ = false;
            bytes& message = head_.kind == wire::push_kind::attach ? greeting_ : push_;
            wire::write_push_head(head_, sizes_, message.data());
            content = message;
        }
        const auto item = static_cast<std::uint32_t>(2 * server_);
        try {
            head_due_ = through_.receive(server_, {channels::parameters, item, 0}, head_memory_);
            sent_ = through_.send(
                server_, {channels::pushes, static_cast<std::uint32_t>(server_), 0}, content);
        } catch (const peer_failure& e) {
            if (patience_ <= duration::zero() || e.rank() != server_) throw;
            went(false);  // or it left: that is told
        }
    }

    void move() {
        if (sent_ && poll(sent_)) sent_.reset();
        if (head_due_ && poll(head_due_)) {
            head_due_.reset();
            const auto head =
                wire::read_parameters_header(head_memory_).value([&] { return what(); });
            const auto item = static_cast<std::uint32_t>(2 * server_);
            if (head.kind == wire::parameters_kind::not_yet) {
                head_due_ =
                    through_.receive(server_, {channels::parameters, item, 0}, head_memory_);
            } else {
                answer_ = head;
                values_due_ =
                    through_.receive(server_, {channels::parameters, item + 1, 0}, room());
            }
        }
        if (values_due_ && poll(values_due_)) {
            values_due_.reset();
            if (answer_.kind == wire::parameters_kind::refused) be_refused();
            if (answer_.kind == wire::parameters_kind::changed) apply_changes();
            count_lost();
            // A server that is there anew may have had what was being pushed.
            const bool has_it =
                head_.kind == wire::push_kind::gradient && answer_.rounds > head_.round;
            const bool greeted = std::exchange(is_greeting_, false);
            if (greeted && has_it && !is_answered_) {
                // The server goes on from a checkpoint that has it, and is not to wait for it.
                is_answered_ = is_greeting_ = resends_ = true;
            } else if (greeted && !is_answered_) {
                head_.read = answer_.version;
                resends_ = true;
            } else {
                is_answered_ = true;
            }
        }
        if (resends_ && !sent_) {
            resends_ = false;
            send();
        }
    }

    /// Compares what the server says that it has had with what it had acknowledged.
    void count_lost() noexcept {
        const std::uint64_t has = answer_.rounds;
        if (is_greeting_ && has < known_.rounds) {
            // What it saves when all are done has no rounds any more, but all that they led to.
            const bool was_over = head_.kind == wire::push_kind::done && has == 0 &&
                                  answer_.version >= known_.version;
            if (was_over) return;
            // Rounds that went with an earlier process of the server are not lost once more.
            std::uint64_t lost = known_.rounds - (std::max)(has, known_.again_from);
            if (has < known_.again_from && has < known_.before) lost += known_.before - has;
            lost_ += static_cast<std::int64_t>(lost);
            known_.before = has;
            known_.again_from = known_.rounds;
            known_.version = answer_.version;
        } else {
            known_.rounds = (std::max)(known_.rounds, has);
            known_.version = answer_.version;
        }
    }

    /// Whether it is complete; spent in any case if it never will be.
    bool poll(std::optional<request>& r) {
        try {
            return through_.poll(*r).has_value();
        } catch (...) {
            r.reset();
            throw;
        }
    }
    void give_up(std::optional<request>& r) {
        try {
            if (r) (void)poll(r);
        } catch (const peer_failure&) {  // as it is known
        }
        r.reset();
    }

    mutable_byte_view room() {
        const auto whole = std::as_writable_bytes(values_);
        const bool all = answer_.kind == wire::parameters_kind::whole;
        // A changed parameter takes its value and less than 8 bytes for its index.
        const std::size_t most = answer_.kind == wire::parameters_kind::refused
                                     ? wire::configuration_bytes_max
                                     : 3 * whole.size() + 64;
        if (all ? answer_.size != whole.size() : answer_.size > most)
            throw malformed(what(),
                            {24, "bytes of its parameters", static_cast<std::int64_t>(answer_.size),
                             static_cast<std::int64_t>(whole.size())});
        if (all) return whole;
        changes_.resize(static_cast<std::size_t>(answer_.size));
        return changes_;
    }

    void apply_changes() {
        const auto n = static_cast<std::int64_t>(values_.size());
        const wire::sparse_head head =
            sotto::wire::peek_sparse(changes_).value([&] { return what(); });
        const auto count = static_cast<std::size_t>((std::min)(head.entries, n));
        changed_at_.resize(count);
        changed_to_.resize(count);
        const auto entries = wire::decode_sparse(changes_, n, std::span<std::uint32_t>(changed_at_),
                                                 std::span<float>(changed_to_))
                                 .value([&] { return what(); });
        for (std::size_t k = 0; k < entries.indices.size(); ++k)
            values_[entries.indices[k]] = entries.values[k];
    }

    [[noreturn]] void be_refused() const {
        throw mismatch(
            "server " + std::to_string(server_) + " refuses this rank: " +
            std::string(reinterpret_cast<const char*>(changes_.data()), changes_.size()));
    }

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
    peer_failure::occasion now_;
};

}  // namespace sotto::detail
