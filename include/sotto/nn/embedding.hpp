#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <utility>

#include "sotto/core/errors.hpp"
#include "sotto/core/layout.hpp"
#include "sotto/nn/blueprint.hpp"
#include "sotto/nn/detail/buffer.hpp"
#include "sotto/nn/detail/rows.hpp"
#include "sotto/nn/pass.hpp"
#include "sotto/nn/shape.hpp"

namespace sotto::nn {

/// A learned vector for each token. Tokens are given by their numbers as floats, which are exact
/// below 2^24.
///   math    y[t] = W[x[t]];   dW[v] = sum of dy[t] over all t with x[t] = v
///   shape   in: any shape of T tokens;  out: T x 1 x width, one row for each;  weight:
///           vocabulary x width, uniform with variance 1 at first
///   cost    forward: a copy. Backward: an addition, and memory traffic of the whole weight
///   errors  bind throws invalid_option: an option below 1, more than 2^24 tokens, a layer with
///           parameters before this one (tokens have no gradient for it)
///           forward throws invalid_option: a token that is not a whole number from 0 to
///           vocabulary - 1
struct embedding {
    std::int64_t vocabulary = 1;  // number of different tokens
    std::int64_t width = 1;       // floats of a vector

    class state;
    state bind(shape input, blueprint& plan) const;

    void describe(auto&& field) const {
        field("vocabulary", vocabulary);
        field("width", width);
    }
};

class embedding::state {
public:
    shape output() const noexcept { return {positions_, 1, width_}; }

    std::span<const float> activations(std::span<const float> in) const noexcept;

    std::span<const float> forward(const pass& at, std::span<const float> in);

    std::span<const float> backward(std::span<const float>, std::span<const float> in,
                                    std::span<const float> out_gradient, std::span<float> gradient,
                                    auto&& on_ready) {
        const std::span<float> weight = weight_.of(gradient);
        std::fill(weight.begin(), weight.end(), 0.0f);
        const float* from = out_gradient.data();
        for (const std::int32_t token : tokens_.first(static_cast<std::int64_t>(in.size()))) {
            detail::nn::add_row(from, weight.data() + token * width_, width_);
            from += width_;
        }
        on_ready(std::as_const(weight_));
        return {};
    }

private:
    friend struct embedding;

    std::int32_t checked_token(std::span<const float> in, std::size_t i) const;

    std::string name_;
    std::int64_t positions_ = 1;
    std::int64_t vocabulary_ = 1;
    std::int64_t width_ = 1;
    tensor weight_;
    detail::nn::buffer<std::int32_t> tokens_;  // of the last forward pass
    detail::nn::buffer<> out_;
};

inline embedding::state embedding::bind(shape input, blueprint& plan) const {
    const std::string name = plan.name("embedding");
    check_shape(name, input);
    check_option(name, "vocabulary", vocabulary);
    check_option(name, "width", width);
    constexpr std::int64_t exact = std::int64_t{1} << 24;
    if (vocabulary > exact)
        throw invalid_option(name + ": vocabulary is " + std::to_string(vocabulary) +
                             "; expected at most 2^24, up to which every float is exact");
    if (plan.has_parameters())
        throw invalid_option(name +
                             ": layers before it have parameters; expected none, since "
                             "tokens pass no gradient on");
    state bound;
    bound.name_ = name;
    bound.positions_ = input.size();
    bound.vocabulary_ = vocabulary;
    bound.width_ = width;
    check_shape(name, bound.output());
    // Of a token's one-hot inputs exactly one is 1, so fan_in is 1.
    bound.weight_ = plan.add_weight(name, {vocabulary, width}, detail::nn::start::lecun, 1, width);
    return bound;
}

}  // namespace sotto::nn

#ifndef SOTTO_SEPARATE_COMPILATION
#include "sotto/nn/embedding.ipp"
#endif
