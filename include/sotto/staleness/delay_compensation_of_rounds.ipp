#pragma once

#include "sotto/staleness/delay_compensation_of_rounds.hpp"

#include "sotto/core/config.hpp"

namespace sotto {

SOTTO_DECL delay_compensation_of_rounds::state delay_compensation_of_rounds::bind(
    const layout& tensors, int workers) const {
    return delay_compensation{lambda, bound}.bind(tensors, workers);
}

}  // namespace sotto
