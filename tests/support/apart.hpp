#pragma once

#include <cstdint>
#include <span>

#include "sotto/core/layout.hpp"
#include "sotto/data/sampler.hpp"
#include "sotto/strategies/strategy.hpp"
#include "sotto/transports/group.hpp"

namespace sotto::testing {

/// A strategy in groups, as codistillation has them, that do not know of each other.
template <class Strategy>
struct apart {
    Strategy strategy;
    int count = 2;

    static constexpr bool synchronous = Strategy::synchronous;
    static constexpr bool in_step = true;

    template <class Transport>
    struct state {
        int own, count;
        group ranks;
        strategy_state<Strategy> inner;

        state(const apart& options, const layout& tensors, Transport& through, int number)
            : own(number),
              count(options.count),
              ranks(split(through, number)),
              inner(options.strategy.bind(tensors, ranks)) {}

        auto& together() { return ranks; }
        std::int64_t start_group() const { return own + 1; }
        detail::data::share share() const { return inner.share(); }
        detail::data::shard shard() const { return {own, count}; }
        detail::epoch_agreement begin_epoch(const detail::epoch_plan& plan) {
            return inner.begin_epoch(plan);
        }
        template <class Model>
        round_report round(detail::round_input<Model>& job, std::span<float> parameters) {
            return inner.round(job, parameters);
        }
    };

    template <class Transport>
    auto bind(const layout& tensors, Transport& through) const {
        return state<Transport>(*this, tensors, through, through.rank() * count / through.size());
    }
};

template <class S>
apart(S) -> apart<S>;
template <class S>
apart(S, int) -> apart<S>;

}  // namespace sotto::testing
