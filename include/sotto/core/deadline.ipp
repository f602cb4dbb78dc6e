#pragma once

#include "sotto/core/deadline.hpp"

#include <algorithm>

#include "sotto/core/config.hpp"

namespace sotto::detail {

SOTTO_DECL duration waiting_time::at(time_point now) noexcept {
    const duration gap = (std::max)(now - looked_, duration::zero());
    looked_ += gap;
    return waited_ += gap > 4 * slice_ ? slice_ : gap;
}

}  // namespace sotto::detail

namespace sotto {

SOTTO_DECL deadline::deadline(time_point now, duration limit) noexcept
    : time_(now, std::clamp<duration>(limit / 8, std::chrono::milliseconds(1),
                                      detail::waiting_time::slice_max)),
      limit_(limit) {}

SOTTO_DECL time_point deadline::next_look() const noexcept {
    return time_.looked() + std::clamp(limit_ - time_.waited(), duration::zero(), time_.slice());
}

}  // namespace sotto
