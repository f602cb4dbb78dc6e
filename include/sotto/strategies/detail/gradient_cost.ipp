#pragma once

#include "sotto/strategies/detail/gradient_cost.hpp"

#include <algorithm>

#include "sotto/core/config.hpp"

namespace sotto::detail {

SOTTO_DECL void gradient_work::is_ready(const tensor& t) {
    if (size_ > 0.0) pass(2.0 / 3.0 * static_cast<double>(t.size) / size_);
}

SOTTO_DECL void gradient_work::pass(double share) {
    share = (std::min)(share, 1.0 - passed_);
    if (share <= 0.0) return;
    passed_ += share;
    if (whole_.flops > 0.0 || whole_.bytes > 0.0)
        through_.charge({.flops = share * whole_.flops, .bytes = share * whole_.bytes});
}

}  // namespace sotto::detail
