#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "sotto/collectives/detail/all_gather_values.hpp"
#include "sotto/core/random.hpp"
#include "sotto/strategies/strategy.hpp"
#include "sotto/transports/transport.hpp"
#include "sotto/transports/transport_ref.hpp"

namespace sotto::detail {

/// The random streams of a run. All are functions of its seed and its position, so none has state
/// to save.
template <class State>
class rng_streams {
public:
    rng_streams(std::uint64_t seed, const State& state, transport_ref through)
        : random_(seed), state_(state), through_(through) {}

    /// Stream of all ranks.
    random_stream of_all(std::string_view name) const { return random_.split(name); }

    /// Stream of the ranks of one start group. With several groups it alone determines their start,
    /// because a model's `initialise` gives the same for the same stream.
    random_stream of_group(std::string_view name) const { return of(start_group(), name); }

    /// Stream of the ranks that read data in the same order.
    random_stream of_order(std::string_view name) const {
        if constexpr (requires { state_.order_group(); })
            return of(state_.order_group(), name);
        else
            return of_group(name);
    }

    /// Stream of the model in a round: each rank's own.
    random_stream draws_of(std::int64_t step) const {
        return random_.split("draws")
            .split(static_cast<std::uint64_t>(step))
            .split(static_cast<std::uint64_t>(through_.rank()));
    }

    /// Stream for the random variations of examples in an epoch. For shared data it is the same on
    /// all ranks that read in the same order; with own data each rank has its own.
    random_stream looks_of(std::int64_t epoch, bool own_data) const {
        const random_stream looks = of_order("looks").split(static_cast<std::uint64_t>(epoch));
        return own_data ? looks.split(static_cast<std::uint64_t>(through_.rank())) : looks;
    }

    /// True if all ranks are in the same start group; all ranks call it.
    bool one_start() const {
        if constexpr (conducting::has_start_groups<State>) {
            std::vector<std::int64_t> groups(static_cast<std::size_t>(through_.size()));
            collectives::all_gather_values(through_, start_group(), std::span(groups),
                                           {channels::set_up, 3, 0});
            return std::ranges::all_of(groups, [&](std::int64_t g) { return g == groups[0]; });
        } else {
            return true;
        }
    }

private:
    random_stream of(std::int64_t group, std::string_view name) const {
        const random_stream everybodys = random_.split(name);
        return group == 0 ? everybodys : everybodys.split(static_cast<std::uint64_t>(group));
    }

    std::int64_t start_group() const {
        if constexpr (conducting::has_start_groups<State>)
            return state_.start_group();
        else
            return 0;
    }

    random_stream random_;
    const State& state_;
    transport_ref through_;
};

}  // namespace sotto::detail
