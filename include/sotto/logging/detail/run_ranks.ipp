#pragma once

#include "sotto/logging/detail/run_ranks.hpp"

#include <charconv>
#include <system_error>

#include "sotto/core/config.hpp"
#include "sotto/trainer/detail/run_description.hpp"

namespace sotto::detail {

SOTTO_DECL sent_by_ranks sent_by(std::span<const rank_total> ranks) noexcept {
    sent_by_ranks found{.known = ranks.size()};
    for (const rank_total& r : ranks) {
        found.mean += r.total.bytes_sent / static_cast<double>(ranks.size());
        if (r.total.bytes_sent > found.most ||
            (r.total.bytes_sent == found.most && (found.most == 0.0 || r.rank < found.rank)))
            found.most = r.total.bytes_sent, found.rank = r.rank;
    }
    return found;
}

SOTTO_DECL void serving_ranks::read(std::string_view name, std::string_view value) noexcept {
    if (name == "strategy.servers.servers") {
        int count = 0;
        const auto end = std::from_chars(value.data(), value.data() + value.size(), count);
        if (end.ec == std::errc{} && count > 0) servers = count;
    }
    if (name == "strategy.servers.dedicated") dedicated = value == "true";
}

SOTTO_DECL serving_ranks serving_ranks_of(std::string_view description) noexcept {
    serving_ranks found;
    detail::for_each_option(description, [&](std::string_view name, std::string_view value) {
        found.read(name, value);
    });
    return found;
}

}  // namespace sotto::detail
