#pragma once

#include "sotto/transports/detail/messaging/liveness.hpp"

#include "sotto/core/config.hpp"
#include "sotto/transports/detail/messaging/membership_words.hpp"

namespace sotto::detail::net {

SOTTO_DECL duration liveness_options::silence() const noexcept {
    return dead_after > duration::zero() ? (std::max)(dead_after, 4 * period()) : dead_after;
}

SOTTO_DECL void liveness::heard(duration present) noexcept {
    note(present);
    segments_.reset();
    retransmission_ = duration::zero();
    is_acknowledged_ = true;
}

SOTTO_DECL bool liveness::is_overdue(duration present,
                                     const liveness_options& options) const noexcept {
    return present - last_ > 2 * options.period();
}

SOTTO_DECL void liveness::observe(const path_facts& path, duration present) noexcept {
    if (segments_ && *segments_ != path.segments) {
        note(present);
        retransmission_ = duration::zero();
    }
    segments_ = path.segments;
    is_acknowledged_ = path.is_acknowledged;
    delay_ = (std::max)(path.round_trip - acknowledged_after, duration::zero());
    retransmission_ = (std::max)(retransmission_, path.retransmission);
}

SOTTO_DECL bool liveness::is_lost(duration present,
                                  const liveness_options& options) const noexcept {
    return options.dead_after > duration::zero() && present - last_ > limit(options);
}

SOTTO_DECL duration liveness::limit(const liveness_options& options) const noexcept {
    if (waits_for_first(options)) return options.first_sign;
    const duration most = 3 * options.silence();
    if (settles(options)) return most;
    return (std::min)(options.silence() + 4 * delay_ + next_attempt(options), most);
}

SOTTO_DECL bool liveness::settles(const liveness_options& options) const noexcept {
    return !is_acknowledged_ && first_ && last_ - *first_ < options.settling * options.silence();
}

SOTTO_DECL std::string liveness::cause(const liveness_options& options) const {
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

SOTTO_DECL void liveness::note(duration present) noexcept {
    last_ = present;
    if (!first_) first_ = present;
}

SOTTO_DECL bool liveness::waits_for_first(const liveness_options& options) const noexcept {
    return !first_ && options.first_sign > duration::zero();
}

SOTTO_DECL duration liveness::next_attempt(const liveness_options& options) const noexcept {
    if (retransmission_ <= duration::zero()) return {};
    return (std::max)(retransmission_, options.silence() / 2);
}

}  // namespace sotto::detail::net
