#pragma once

#include "sotto/compressors/chunked_top_k.hpp"
#include "sotto/compressors/dgc.hpp"
#include "sotto/compressors/error_feedback.hpp"
#include "sotto/compressors/mean_of_senders.hpp"
#include "sotto/compressors/sparsified.hpp"
#include "sotto/compressors/threshold.hpp"
#include "sotto/optimizers/clipped.hpp"
#include "sotto/optimizers/scheduled.hpp"
#include "sotto/strategies/all_reduce.hpp"

namespace sotto::testing {

/// Options of a policy that make sense for tensors of some hundred small integers: one entry in
/// eight is sent, warm-up takes one epoch, learning rates are powers of two, hosts have two ranks.
/// Defaults otherwise.
template <class Policy>
struct sensible {
    static Policy options() {
        Policy policy{};
        if constexpr (requires { policy.density = 0.125; }) policy.density = 0.125;
        if constexpr (requires { policy.warm_up_epochs; }) policy.warm_up_epochs = 1.0;
        if constexpr (requires { policy.limit = 5.0; }) policy.limit = 5.0;
        if constexpr (requires { policy.learning_rate; }) policy.learning_rate = 0.0625;
        if constexpr (requires { policy.chunk, policy.kept; }) policy.chunk = 64, policy.kept = 8;
        if constexpr (requires { policy.ranks_per_host; }) policy.ranks_per_host = 2;
        return policy;
    }
};

template <>
struct sensible<error_feedback<chunked_top_k>> {
    static error_feedback<chunked_top_k> options() {
        return {sensible<chunked_top_k>::options(), 0.95};
    }
};

template <class Inner>
struct sensible<mean_of_senders<Inner>> {
    static mean_of_senders<Inner> options() { return {sensible<Inner>::options()}; }
};

template <class Selector, class Memory, class Schedule>
struct sensible<sparsified<Selector, Memory, Schedule>> {
    static sparsified<Selector, Memory, Schedule> options() {
        sparsified<Selector, Memory, Schedule> policy{sensible<Selector>::options(), Memory{},
                                                      Schedule{}};
        if constexpr (requires { policy.schedule.epochs; }) policy.schedule.epochs = 1.0;
        return policy;
    }
};

template <class Optimizer, class Schedule>
struct sensible<scheduled<Optimizer, Schedule>> {
    static scheduled<Optimizer, Schedule> options() {
        return {sensible<Optimizer>::options(), Schedule{}};
    }
};

template <class Optimizer>
struct sensible<clipped<Optimizer>> {
    static clipped<Optimizer> options() { return {sensible<Optimizer>::options(), 4.0}; }
};

template <class Optimizer, class Compressor, class Collective>
struct sensible<all_reduce<Optimizer, Compressor, Collective>> {
    static all_reduce<Optimizer, Compressor, Collective> options() {
        return {sensible<Optimizer>::options(), sensible<Compressor>::options(),
                sensible<Collective>::options()};
    }
};

}  // namespace sotto::testing
