#pragma once

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "sotto/core/random.hpp"
#include "sotto/nn/layer.hpp"
#include "support/allocation_count.hpp"
#include "support/generators.hpp"

namespace nn_test {

using floats = std::vector<float>;

inline std::size_t count(std::int64_t n) {
    return static_cast<std::size_t>(n);
}

/// Values at least 2^-4 apart from each other and 2^-5 from 0, in random order: no maximum and no
/// sign changes when one moves by less than half of that.
inline floats spaced(std::int64_t n, std::uint64_t seed) {
    floats values(count(n));
    for (std::size_t i = 0; i < values.size(); ++i)
        values[i] = (static_cast<float>(i) - static_cast<float>(n / 2) + 0.5f) * 0.0625f;
    sotto::random_stream random{seed};
    for (std::size_t left = values.size(); left > 1; --left)
        std::swap(values[left - 1], values[random.below(left)]);
    return values;
}

inline floats uniform(std::int64_t n, std::uint64_t seed) {
    return sotto::testing::uniform_values(n, seed);
}

inline double dot(std::span<const float> a, std::span<const float> b) {
    double sum = 0.0;
    for (std::size_t i = 0; i < a.size(); ++i) sum += double{a[i]} * b[i];
    return sum;
}

inline void check_near(std::span<const float> found, std::span<const double> expected,
                       double tolerance) {
    double scale = 1.0;
    for (const double x : expected) scale = std::max(scale, std::abs(x));
    for (std::size_t i = 0; i < found.size(); ++i) {
        CAPTURE(i);
        CHECK(std::abs(found[i] - expected[i]) <= tolerance * scale);
    }
}

/// Central differences of f at x, one coordinate at a time.
inline std::vector<double> slopes(floats& x, float step, auto&& f) {
    std::vector<double> result;
    for (float& coordinate : x) {
        const float there = coordinate;
        coordinate = there + step;
        const double up = f();
        coordinate = there - step;
        const double down = f();
        coordinate = there;
        result.push_back((up - down) / (2.0 * double{step}));
    }
    return result;
}

/// Whether an example's outputs depend on the others of its batch while training.
enum class examples { alone, together };

/// Passes with buffers of their own and always the same draws.
class passes {
public:
    explicit passes(const sotto::nn::blueprint& plan)
        : buffers_(count(plan.buffers().size())), next_(buffers_.size(), std::nanf("")) {
        plan.reset(buffers_);
    }

    sotto::nn::pass training(std::span<const float> parameters) {
        sotto::nn::pass at(parameters);
        at.buffers = buffers_;
        at.next_buffers = next_;
        at.random = sotto::random_stream{8};
        return at;
    }
    sotto::nn::pass evaluation(std::span<const float> parameters) {
        sotto::nn::pass at = training(parameters);
        at.training = false;
        return at;
    }

    std::span<float> buffers() { return buffers_; }
    std::span<float> next_buffers() { return next_; }

private:
    floats buffers_;
    floats next_;
};

/// Compares every derivative of a layer, by its parameters and by its input, with central
/// differences; then that batches of other sizes follow without taking memory and leave no trace,
/// what an empty batch does, that buffers move only while training, and that evaluation looks at
/// every example alone and draws nothing.
///   step   a power of two; may be large for layers that are linear piece by piece, as long as it
///          stays in one piece
template <class Layer>
void check_layer(const Layer& options, sotto::nn::shape input, std::int64_t batch, float step,
                 double tolerance = 1e-4, examples in_training = examples::alone) {
    sotto::nn::blueprint plan;
    plan.add_bias("before", 1);  // so that the gradient of the input is wanted
    auto layer = options.bind(input, plan);
    const std::int64_t outputs = layer.output().size();
    floats parameters = uniform(plan.tensors().size(), 1);
    floats in = spaced(batch * input.size(), 2);
    const floats direction = uniform(batch * outputs, 3);
    passes run(plan);

    const auto projected = [&] {
        return dot(layer.forward(run.training(parameters), in), direction);
    };
    const auto by_parameter = slopes(parameters, step, projected);
    const auto by_input = slopes(in, step, projected);

    floats gradient(parameters.size(), std::nanf(""));
    std::vector<std::int64_t> announced;
    const auto note = [&](const sotto::tensor& t) {
        announced.push_back(t.index);
        for (const float g : t.of(std::span<const float>(gradient))) CHECK(!std::isnan(g));
    };
    const auto out = layer.forward(run.training(parameters), in);
    for (const float x : run.next_buffers()) CHECK(std::isfinite(x));
    CHECK(out.size() == count(batch * outputs));
    CHECK(layer.activations(in).data() == out.data());
    const auto in_gradient = layer.backward(parameters, in, direction, gradient, note);
    REQUIRE(in_gradient.size() == in.size());
    CHECK(std::isnan(gradient[0]));  // not this layer's
    check_near(std::span(gradient).subspan(1), std::span(by_parameter).subspan(1), tolerance);
    check_near(in_gradient, by_input, tolerance);
    REQUIRE(announced.size() + 1 == plan.tensors().tensors().size());
    for (std::size_t i = 0; i < announced.size(); ++i)
        CHECK(announced[i] == static_cast<std::int64_t>(announced.size() - i));

    const floats first_out(out.begin(), out.end()),
        first_in_gradient(in_gradient.begin(), in_gradient.end());
    const floats first_gradient = gradient;
    support::allocation_count allocations;
    for (const std::int64_t size : {std::int64_t{1}, std::int64_t{0}, batch}) {
        const auto some = std::span<const float>(in).first(count(size * input.size()));
        const auto some_direction = std::span<const float>(direction).first(count(size * outputs));
        const auto values = layer.forward(run.training(parameters), some);
        const auto change =
            layer.backward(parameters, some, some_direction, gradient, [](const auto&) {});
        CHECK(values.size() == count(size * outputs));
        CHECK(change.size() == some.size());
        // An example's outputs do not depend on the others of its batch, beyond the rounding of
        // another kernel.
        if (in_training == examples::alone)
            for (std::size_t i = 0; i < values.size(); ++i)
                CHECK(values[i] == doctest::Approx(first_out[i]).epsilon(1e-5).scale(1.0));
        if (size == 0) {
            for (const float g : std::span(gradient).subspan(1)) CHECK(g == 0.0f);
            CHECK(std::ranges::equal(run.buffers(), run.next_buffers()));
        }
        if (size == batch) {
            CHECK(std::equal(values.begin(), values.end(), first_out.begin()));
            CHECK(std::equal(change.begin(), change.end(), first_in_gradient.begin()));
            CHECK(std::equal(gradient.begin() + 1, gradient.end(), first_gradient.begin() + 1));
        }
    }
    CHECK(allocations.on_this_thread() == 0);

    std::ranges::fill(run.next_buffers(), 5.0f);
    const auto evaluated = layer.forward(run.evaluation(parameters), in);
    CHECK(layer.activations(in).data() == evaluated.data());
    const floats together(evaluated.begin(), evaluated.end());
    sotto::nn::pass other_draws = run.evaluation(parameters);
    other_draws.random = sotto::random_stream{9};
    for (std::int64_t n = 0; n < batch; ++n) {
        const auto one = layer.forward(
            other_draws,
            std::span<const float>(in).subspan(count(n * input.size()), count(input.size())));
        for (std::size_t i = 0; i < one.size(); ++i)
            CHECK(one[i] ==
                  doctest::Approx(together[count(n * outputs) + i]).epsilon(1e-5).scale(1.0));
    }
    for (const float x : run.next_buffers()) CHECK(x == 5.0f);

    sotto::nn::blueprint alone;
    auto first_layer = options.bind(input, alone);
    const floats own = uniform(alone.tensors().size(), 1);
    floats own_gradient(own.size());
    first_layer.forward(own, in);
    const auto unwanted =
        first_layer.backward(own, in, direction, own_gradient, [](const auto&) {});
    CHECK((unwanted.empty() ||
           unwanted.data() == direction.data()));  // not computed, at most passed through
}

}  // namespace nn_test
