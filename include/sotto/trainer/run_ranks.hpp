#pragma once

#include <charconv>
#include <cstdint>
#include <string_view>
#include <system_error>

#include "sotto/trainer/run_costs.hpp"

namespace sotto {

/// What one rank did of a run by its own log, all calls of `fit` together.
struct rank_total {
    int rank = 0;
    std::int64_t steps = 0;
    double seconds = 0.0;
    run_costs total{};
    run_costs steady{};  // of its last complete epoch, and the steps of that
    std::int64_t steady_steps = 0;

    friend bool operator==(const rank_total&, const rank_total&) = default;
};

/// Which ranks serve others, by what a run's options say of it.
struct serving_ranks {
    int servers = 0;
    bool dedicated = false;

    /// Ranks that serve alone: the first ones.
    int alone() const noexcept { return dedicated ? servers : 0; }

    void read(std::string_view name, std::string_view value) noexcept {
        if (name == "strategy.servers.servers") {
            int count = 0;
            const auto end = std::from_chars(value.data(), value.data() + value.size(), count);
            if (end.ec == std::errc{} && count > 0) servers = count;
        }
        if (name == "strategy.servers.dedicated") dedicated = value == "true";
    }
};

/// The same from lines of "name = value".
inline serving_ranks serving_ranks_of(std::string_view description) noexcept {
    serving_ranks found;
    while (!description.empty()) {
        const std::string_view line = description.substr(0, description.find('\n'));
        description.remove_prefix(line.size() < description.size() ? line.size() + 1 : line.size());
        if (const auto middle = line.find(" = "); middle != line.npos)
            found.read(line.substr(0, middle), line.substr(middle + 3));
    }
    return found;
}

}  // namespace sotto
