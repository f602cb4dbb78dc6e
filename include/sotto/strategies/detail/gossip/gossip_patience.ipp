#pragma once

#include "sotto/strategies/detail/gossip/gossip_patience.hpp"

#include <cmath>

#include "sotto/core/config.hpp"
#include "sotto/core/describe.hpp"

namespace sotto::detail {

SOTTO_DECL void gossip_patience::begin(time_point now, std::int64_t progress) noexcept {
    time_ = waiting_time(now);
    progress_ = progress;
}

SOTTO_DECL bool gossip_patience::lasts(time_point now, std::int64_t progress,
                                       bool is_twice) noexcept {
    if (progress != progress_) begin(now, progress);
    is_twice_ = is_twice;
    return time_.at(now) <= (is_twice ? 2 : 1) * patience_;
}

SOTTO_DECL std::string gossip_patience::cause() const {
    std::string text = "it was late: for ";
    detail::append_number(text, std::round(1e3 * in_seconds(time_.waited())) / 1e3);
    text += " s nothing came that gossip waits for; surviving::patience, ";
    detail::append_number(text, in_seconds(patience_));
    return text + (is_twice_ ? " s, sets the limit: twice that, as it may have waited itself"
                             : " s, sets the limit");
}

}  // namespace sotto::detail
