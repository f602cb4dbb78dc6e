#pragma once

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "sotto/core/random.hpp"
#include "sotto/data/labelled_batch.hpp"
#include "sotto/models/gradient_source.hpp"
#include "support/allocation_count.hpp"

namespace model_test {

using floats = std::vector<float>;

inline sotto::data::labelled_batch random_batch(std::int64_t size, std::int64_t width,
                                                std::int64_t classes, std::uint64_t seed = 11) {
    sotto::data::labelled_batch batch(size, width);
    sotto::random_stream random{seed};
    for (float& x : batch.inputs()) x = random.uniform();
    for (std::int32_t& y : batch.labels())
        y = static_cast<std::int32_t>(random.below(static_cast<std::uint64_t>(classes)));
    return batch;
}

template <class Model>
floats starting_values(const Model& model, std::uint64_t seed = 3) {
    floats parameters(static_cast<std::size_t>(model.layout().size()));
    model.initialise(parameters, sotto::random_stream{seed});
    // Biases off zero, so that a mistake in one shows.
    sotto::random_stream random{seed + 1};
    for (float& x : parameters)
        if (x == 0.0f) x = random.uniform(-0.1f, 0.1f);
    return parameters;
}

/// The loss along a line through the parameters, one tensor at a time: along the tensor's own
/// gradient, where the slope is the gradient's length, and along random directions.
///   step   how far to go both ways: less for a model with many kinks
template <class Model>
void check_slopes(Model& model, const sotto::data::labelled_batch& batch, double tolerance,
                  double step = 4e-3) {
    const floats parameters = starting_values(model);
    floats gradient(parameters.size(), std::nanf(""));
    const double loss = model.gradient(parameters, batch, gradient, [](const sotto::tensor&) {});
    CHECK(std::isfinite(loss));
    sotto::random_stream random{17};
    for (const sotto::tensor& t : model.layout()) {
        const auto own = t.of(std::span<const float>(gradient));
        double length = 0.0;
        for (const float g : own) length += double{g} * g;
        length = std::sqrt(length);
        REQUIRE(length > 0.0);
        for (int which = 0; which < 3; ++which) {
            floats direction(own.begin(), own.end());
            if (which > 0) {  // the gradient, half of its entries left out
                for (float& d : direction)
                    if (random() % 2 == 0) d = 0.0f;
            }
            double size = 0.0, slope = 0.0;
            for (std::size_t i = 0; i < own.size(); ++i) {
                size += double{direction[i]} * direction[i];
                slope += double{direction[i]} * own[i];
            }
            if (size == 0.0) continue;
            size = std::sqrt(size);
            slope /= size;
            const auto at = [&](double distance) {
                floats moved = parameters;
                const auto part = t.of(std::span(moved));
                for (std::size_t i = 0; i < part.size(); ++i)
                    part[i] += static_cast<float>(distance / size * direction[i]);
                return model.loss().value(model.forward(moved, batch), batch.labels());
            };
            CAPTURE(t.name);
            CAPTURE(which);
            CHECK(std::abs((at(step) - at(-step)) / (2.0 * step) - slope) <= tolerance * length);
        }
    }
}

/// What every model of ours promises besides its gradient, on batches of make(size, seed).
template <class Model>
void check_manners(Model& model, auto make) {
    static_assert(sotto::predictor<Model>);
    const std::int64_t width = model.input().size(), positions = model.positions();
    const std::int64_t outputs = model.outputs() * positions;  // of an example
    const sotto::data::labelled_batch batch = make(6, 11), other = make(3, 12);
    const floats parameters = starting_values(model);
    const std::int64_t tensors = static_cast<std::int64_t>(model.layout().tensors().size());

    floats gradient(parameters.size(), std::nanf(""));
    std::vector<std::int64_t> announced;
    const double loss = model.gradient(parameters, batch, gradient, [&](const sotto::tensor& t) {
        announced.push_back(t.index);
        CHECK(t.name == model.layout()[t.index].name);
        for (const float g : t.of(std::span<const float>(gradient))) CHECK(!std::isnan(g));
    });
    std::vector<std::int64_t> last_to_first;
    for (std::int64_t i = tensors; i-- > 0;) last_to_first.push_back(i);
    CHECK(announced == last_to_first);

    // The parts of `gradient`, with a prediction elsewhere in between: the same bits.
    const auto logits = model.forward(parameters, batch);
    REQUIRE(logits.size() == static_cast<std::size_t>(6 * outputs));
    const floats kept(logits.begin(), logits.end());
    floats logits_gradient(logits.size());
    CHECK(model.loss().gradient(logits, batch.labels(), logits_gradient) == loss);
    const floats elsewhere = starting_values(model, 99);
    model.predict(elsewhere, other);
    CHECK(std::equal(kept.begin(), kept.end(), logits.begin()));
    floats in_parts(parameters.size(), std::nanf(""));
    model.backward(parameters, batch, logits_gradient, in_parts, [](const sotto::tensor&) {});
    CHECK(in_parts == gradient);
    // Batch statistics make examples depend on each other while training.
    const bool alone = model.buffers().empty();
    const auto predicted = model.predict(parameters, batch);
    if (alone) CHECK(std::equal(kept.begin(), kept.end(), predicted.begin(), predicted.end()));

    // Another object, and a copy taken between forward and backward: the same bits.
    model.forward(parameters, batch);
    Model copy = model;
    model.forward(elsewhere, other);
    floats by_copy(parameters.size());
    copy.backward(parameters, batch, logits_gradient, by_copy, [](const sotto::tensor&) {});
    CHECK(by_copy == gradient);

    // Smaller batches, none, and the first again: no memory, no trace.
    const support::allocation_count allocations;
    const auto nothing = [](const sotto::tensor&) {};
    model.gradient(parameters, other, in_parts, nothing);
    const sotto::data::labelled_batch empty;
    CHECK(model.gradient(parameters, empty, in_parts, nothing) == 0.0);
    for (const float g : in_parts) CHECK(g == 0.0f);
    CHECK(model.gradient(parameters, batch, in_parts, nothing) == loss);
    CHECK(in_parts == gradient);
    model.predict(parameters, other);
    CHECK(allocations.on_this_thread() == 0);

    // The mean over a batch is the mean over its examples.
    if (!alone) return;
    double sum = 0.0;
    std::vector<double> mean(parameters.size());
    for (std::size_t i = 0; i < 6; ++i) {
        sotto::data::labelled_batch one;
        one.resize(1, width, positions);
        const auto from = batch.inputs().subspan(i * static_cast<std::size_t>(width),
                                                 static_cast<std::size_t>(width));
        std::copy(from.begin(), from.end(), one.inputs().begin());
        const auto each = static_cast<std::size_t>(positions);
        const auto labels = batch.labels().subspan(i * each, each);
        std::copy(labels.begin(), labels.end(), one.labels().begin());
        sum += model.gradient(parameters, one, in_parts, nothing) / 6.0;
        for (std::size_t j = 0; j < mean.size(); ++j) mean[j] += in_parts[j] / 6.0;
    }
    CHECK(sum == doctest::Approx(loss).epsilon(1e-5));
    double largest = 0.0, apart = 0.0;
    for (std::size_t j = 0; j < mean.size(); ++j) {
        largest = std::max(largest, std::abs(mean[j]));
        apart = std::max(apart, std::abs(mean[j] - gradient[j]));
    }
    CHECK(apart <= 1e-5 * largest);
}

template <class Model>
void check_manners(Model& model) {
    check_manners(model, [&](std::int64_t size, std::uint64_t seed) {
        return random_batch(size, model.input().size(), model.outputs(), seed);
    });
}

}  // namespace model_test
