#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <optional>
#include <string>

#include "sotto/core/clock.hpp"
#include "sotto/transports/detail/messaging/membership_words.hpp"

namespace sotto::detail::net {

/// How ranks show each other that they live.
struct liveness_options {
    duration heartbeat = std::chrono::milliseconds(250);
    duration dead_after = std::chrono::seconds(2);  // without a sign of life; 0: never
    duration first_sign{};            // until the first sign of life; 0: as dead_after
    const char* transport = "sotto";  // whose options these are
    int ranks = 2;                    // of the job
    /// A rank may settle until it is heard for so many times its silence: the first large messages
    /// fill queues, whose delay is not measured yet.
    int settling = 0;

    /// Time between two signs of life of a rank to another. In a large job they are rarer: each
    /// rank sends at most 32 of them per heartbeat, since those of all ranks together grow with
    /// the square of their number.
    duration period() const noexcept { return (std::max)(heartbeat, heartbeat * (ranks - 1) / 32); }
    /// Silence that a network without delay may cause: dead_after, and at least four periods, which
    /// are longer from 66 ranks on by the defaults.
    duration silence() const noexcept {
        return dead_after > duration::zero() ? (std::max)(dead_after, 4 * period()) : dead_after;
    }
};

/// What the system of a rank knows of its connections to another rank.
struct path_facts {
    std::uint64_t segments = 0;  // of TCP that came, with content
    duration round_trip{};       // smoothed; a queue on the way adds to it
    duration retransmission{};   // what was not acknowledged is sent again within; 0: nothing is
    /// What was sent to it. The system of a rank acknowledges also while its process hangs.
    bool is_acknowledged = true;
};

/// When another rank last gave a sign of life, and for how long it may give none. Signs of life are
/// its frames and, while these are overdue, whatever content comes by any of its connections.
///   math  the limit is s + 4 d + r, at most 3 s: s is dead_after, in a large job four periods
///         between signs of life if these are longer; d is the smoothed round trip, without the
///         200 ms by which a system may delay an acknowledgement; r is the longest time in this
///         silence within which the system sends again what was lost, at least s / 2, and 0 where
///         nothing was lost: the other rank's next attempt may be as late, even after this rank's
///         came through. Before the first sign of life the limit is first_sign; while a rank
///         settles, 3 s
class liveness {
public:
    /// The first sign of life is still to come.
    explicit liveness(duration present) noexcept : last_(present) {}

    /// Frames came.
    void heard(duration present) noexcept {
        note(present);
        segments_.reset();
        retransmission_ = duration::zero();
        is_acknowledged_ = true;
    }

    bool is_overdue(duration present, const liveness_options& options) const noexcept {
        return present - last_ > 2 * options.period();
    }
    /// While frames are overdue: more segments than the last time are a sign of life.
    void observe(const path_facts& path, duration present) noexcept {
        if (segments_ && *segments_ != path.segments) {
            note(present);
            retransmission_ = duration::zero();
        }
        segments_ = path.segments;
        is_acknowledged_ = path.is_acknowledged;
        delay_ = (std::max)(path.round_trip - acknowledged_after, duration::zero());
        retransmission_ = (std::max)(retransmission_, path.retransmission);
    }

    bool is_lost(duration present, const liveness_options& options) const noexcept {
        return options.dead_after > duration::zero() && present - last_ > limit(options);
    }

    duration limit(const liveness_options& options) const noexcept {
        if (waits_for_first(options)) return options.first_sign;
        const duration most = 3 * options.silence();
        if (settles(options)) return most;
        return (std::min)(options.silence() + 4 * delay_ + next_attempt(options), most);
    }
    /// How long it takes to the rank and back, where that is more than a system adds by itself.
    duration delay() const noexcept { return delay_; }

    /// Its system acknowledges nothing, and it is not heard for long enough to know its delay under
    /// load.
    bool settles(const liveness_options& options) const noexcept {
        return !is_acknowledged_ && first_ &&
               last_ - *first_ < options.settling * options.silence();
    }

    /// Why the rank is lost.
    std::string cause(const liveness_options& options) const {
        const std::string of = std::string(options.transport) + "_options::";
        std::string text = "no sign of life from it for ";
        append_seconds(text, limit(options));
        if (waits_for_first(options)) text += " since ranks met it";
        text += ": it hangs, or the network to it is cut; " + of;
        if (waits_for_first(options)) return text + "join sets the limit";
        text += "dead_after";
        if (limit(options) <= options.dead_after) return text + " sets the limit";
        append_seconds(text += ", ", options.dead_after);
        if (options.silence() > options.dead_after)
            append_seconds(text += " and at least four times the time between signs of life of " +
                                   std::to_string(options.ranks) + " ranks, ",
                           options.period());
        if (settles(options)) {
            append_seconds(text += ", times 3 until it is heard for ",
                           options.settling * options.silence());
            return text + ", sets the limit";
        }
        if (delay_ > duration::zero())
            append_seconds(text += ", plus 4 x the measured delay of ", delay_);
        if (retransmission_ > duration::zero())
            append_seconds(text += ", as what is sent to it is lost plus ", next_attempt(options));
        return text + ", sets the limit, 3 times itself at most";
    }

private:
    // The longest delay of an acknowledgement by Linux, whose sender has nothing else to send.
    static constexpr duration acknowledged_after = std::chrono::milliseconds(200);

    void note(duration present) noexcept {
        last_ = present;
        if (!first_) first_ = present;
    }
    bool waits_for_first(const liveness_options& options) const noexcept {
        return !first_ && options.first_sign > duration::zero();
    }

    duration next_attempt(const liveness_options& options) const noexcept {
        if (retransmission_ <= duration::zero()) return {};
        return (std::max)(retransmission_, options.silence() / 2);
    }

    duration last_;
    std::optional<duration> first_{};  // sign of life
    duration delay_{}, retransmission_{};
    bool is_acknowledged_ = true;
    std::optional<std::uint64_t> segments_{};  // while frames are overdue: that had come
};

}  // namespace sotto::detail::net
