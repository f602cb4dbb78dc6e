#pragma once

#include "sotto/core/layout.hpp"
#include "sotto/staleness/delay_compensation.hpp"
#include "sotto/staleness/staleness_compensator.hpp"

namespace sotto {

/// DC-SSGD: applies the gradients of a round one after another. All were computed at the same
/// parameters; each is corrected for the distance that the earlier ones moved the parameters.
///   math    w_0 = w; w_j = w_(j-1) - rate / M (g_j + lambda g_j^2 (w_(j-1) - w)), j = 1 .. M in
///           the order of the workers. With lambda = 0 this is the mean gradient's step, except for
///           rounding
///   shape   only under bulk_synchronous and with plain sgd: an optimizer with state would take M
///           steps a round
///   source  Zheng et al. 2017, arXiv:1609.08326, appendix
struct delay_compensation_of_rounds {
    double lambda = 0.04;  // as in delay_compensation
    double bound = 0.0;    // limit of the correction, as a share of the gradient; 0: none

    static constexpr bool compares = true;
    static constexpr bool synchronous_only = true;

    using state = delay_compensation::state;
    state bind(const layout& tensors, int workers) const;
    void describe(auto&& field) const {
        field("lambda", lambda);
        field("bound", bound);
    }
};

static_assert(staleness_compensator<delay_compensation_of_rounds>);

}  // namespace sotto

#ifndef SOTTO_SEPARATE_COMPILATION
#include "sotto/staleness/delay_compensation_of_rounds.ipp"
#endif
