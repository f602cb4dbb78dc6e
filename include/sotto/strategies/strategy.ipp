#pragma once

#include "sotto/strategies/strategy.hpp"

#include "sotto/core/config.hpp"

namespace sotto::detail {

SOTTO_DECL void refuse_no_examples() {
    throw invalid_option("fit: no rank has any examples to train on");
}

}  // namespace sotto::detail
