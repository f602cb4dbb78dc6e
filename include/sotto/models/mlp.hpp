#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <span>
#include <string>
#include <utility>

#include "sotto/core/errors.hpp"
#include "sotto/losses/cross_entropy.hpp"
#include "sotto/models/sequential.hpp"
#include "sotto/nn/blueprint.hpp"
#include "sotto/nn/chain.hpp"
#include "sotto/nn/dense.hpp"
#include "sotto/nn/relu.hpp"
#include "sotto/nn/repeated.hpp"

namespace sotto::detail::models {
using mlp_layers =
    sotto::nn::chain<sotto::nn::repeated<sotto::nn::chain<sotto::nn::dense, sotto::nn::relu>>,
                     sotto::nn::dense>;
}  // namespace sotto::detail::models

namespace sotto::models {

/// A multi-layer perceptron: dense layers with relu in between. `mlp model{784, 256, 10}` has 256
/// hidden values; `mlp model{{784, 256, 10}, squared_error{}}` uses another loss.
///   shape   dense1.weight: second width x first, dense1.bias, dense2.weight, ...
///   errors  invalid_option: fewer than two widths, a width below 1
template <class Loss = cross_entropy>
class mlp : public sequential<detail::models::mlp_layers, Loss> {
public:
    /// Widths of the input, of any number of hidden layers, and of the output.
    mlp(std::initializer_list<std::int64_t> widths, Loss criterion = {})
        : mlp(std::span<const std::int64_t>(widths.begin(), widths.size()), std::move(criterion)) {}

    /// The same for a number of widths known only at run time.
    explicit mlp(std::span<const std::int64_t> widths, Loss criterion = {})
        : sequential<detail::models::mlp_layers, Loss>({inputs(widths), 1, 1}, layers(widths),
                                                       std::move(criterion)) {}

private:
    static std::int64_t inputs(std::span<const std::int64_t> widths) {
        if (widths.size() < 2)
            throw invalid_option("mlp: " + std::to_string(widths.size()) +
                                 " widths; expected at least 2, inputs and classes");
        return widths.front();
    }

    static detail::models::mlp_layers layers(std::span<const std::int64_t> widths) {
        nn::repeated<nn::chain<nn::dense, nn::relu>> hidden;
        for (std::size_t i = 1; i + 1 < widths.size(); ++i)
            hidden.layers.push_back(nn::chain{nn::dense{.outputs = widths[i]}, nn::relu{}});
        return nn::chain{std::move(hidden),
                         nn::dense{.outputs = widths.back(), .start = detail::nn::start::glorot}};
    }
};

}  // namespace sotto::models
