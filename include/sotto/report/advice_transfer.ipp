#pragma once

#include "sotto/report/advice_transfer.hpp"

#include <algorithm>

#include "sotto/core/config.hpp"
#include "sotto/core/errors.hpp"
#include "sotto/core/require_option.hpp"

namespace sotto {

SOTTO_DECL void check_link(const char* who, const network_link& link) {
    require_option(who, "bytes_per_second", link.bytes_per_second, detail::allowed::above(0.0));
    require_option(who, "latency_seconds", link.latency_seconds, detail::allowed::at_least(0.0));
}

}  // namespace sotto

namespace sotto::detail {

SOTTO_DECL double transfer_cost::seconds(const network_link& link) const noexcept {
    return bytes / link.bytes_per_second + messages * link.latency_seconds;
}

SOTTO_DECL transfer_cost& transfer_cost::operator+=(const transfer_cost& other) noexcept {
    bytes += other.bytes;
    messages = (std::max)(messages, other.messages);
    return *this;
}

}  // namespace sotto::detail

namespace sotto {

SOTTO_DECL detail::transfer_cost all_reduce_cost(std::int64_t values, int world,
                                                 wire::value_format format,
                                                 detail::collectives::algorithm which) {
    if (world < 2 || values < 1) return {};
    detail::collectives::all_reduce_plan plan(0, world, which, format);
    plan.begin(values);
    std::int64_t passed = 0;
    for (int k = 0; k < plan.steps(); ++k) {
        const detail::collectives::step s = plan.at(k);
        passed += (std::max)(s.out.size(), s.in.size());  // empty without a peer
    }
    return {static_cast<double>(passed * wire::bytes_per_value(format)),
            static_cast<double>(plan.steps())};
}

SOTTO_DECL detail::transfer_cost all_gather_cost(double message_bytes, int world,
                                                 bool around_ring) {
    if (world < 2) return {};
    const auto others = static_cast<double>(world - 1);
    return {others * message_bytes, around_ring ? others : 1.0};
}

}  // namespace sotto
