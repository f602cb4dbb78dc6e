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

/// The random streams of a run, all of them from its seed and from where it stands: none has a
/// state that would have to be saved.
template <class State>
class rng_streams {
public:
    rng_streams(std::uint64_t seed, const State& state, transport_ref through)
        : random_(seed), state_(state), through_(through) {}

    /// What all ranks have in common.
    random_stream of_all(std::string_view name) const { return random_.split(name); }

    /// What ranks of one start group have in common: with several groups the start comes from them
    /// alone, as a model's `initialise` gives the same for the same stream.
    random_stream of_group(std::string_view name) const { return of(start_group(), name); }

    /// What ranks have in common that read data in the same order.
    random_stream of_order(std::string_view name) const {
        if constexpr (requires { state_.order_group(); })
            return of(state_.order_group(), name);
        else
            return of_group(name);
    }

    /// What the model draws in a round: each rank's own.
    random_stream draws_of(std::int64_t step) const {
        return random_.split("draws")
            .split(static_cast<std::uint64_t>(step))
            .split(static_cast<std::uint64_t>(through_.rank()));
    }

    /// What varying examples look like in an epoch: alike, whichever rank of those that read in the
    /// same order reads one that is everybody's.
    random_stream looks_of(std::int64_t epoch, bool own_data) const {
        const random_stream looks = of_order("looks").split(static_cast<std::uint64_t>(epoch));
        return own_data ? looks.split(static_cast<std::uint64_t>(through_.rank())) : looks;
    }

    /// Whether all ranks are in the same start group; all call it.
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
