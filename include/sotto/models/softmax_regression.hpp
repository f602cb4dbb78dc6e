#pragma once

#include <cstdint>
#include <utility>

#include "sotto/losses/cross_entropy.hpp"
#include "sotto/models/sequential.hpp"
#include "sotto/nn/blueprint.hpp"
#include "sotto/nn/dense.hpp"

namespace sotto::models {

/// A linear classifier: `softmax_regression model{784, 10}`.
///   shape   dense1.weight: classes x inputs;  dense1.bias: classes
///   errors  invalid_option: inputs or classes below 1
template <class Loss = cross_entropy>
class softmax_regression : public sequential<nn::dense, Loss> {
public:
    /// Number of values per example, and of outputs.
    softmax_regression(std::int64_t inputs, std::int64_t classes, Loss criterion = {})
        : sequential<nn::dense, Loss>({inputs, 1, 1},
                                      {.outputs = classes, .start = detail::nn::start::glorot},
                                      std::move(criterion)) {}
};

}  // namespace sotto::models
