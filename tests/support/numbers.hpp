#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <numeric>
#include <span>
#include <utility>
#include <vector>

#include "sotto/core/layout.hpp"
#include "sotto/core/random.hpp"
#include "support/generators.hpp"

namespace sotto::testing {

/// A data set whose examples are nothing but their numbers: first, first + 1, ...
struct numbered {
    using batch_type = std::vector<std::int64_t>;

    std::int64_t count = 0;
    std::int64_t first = 0;
    std::function<void()> on_gather{};

    std::int64_t size() const noexcept { return count; }
    void gather(std::span<const std::int64_t> indices, batch_type& batch) const {
        if (on_gather) on_gather();
        batch.assign(indices.begin(), indices.end());
        for (std::int64_t& example : batch) example += first;
    }
};

enum class announces { last_to_first, first_to_last, outside_in, some, none };

/// A model for exact arithmetic: the gradient of an example is a small integer for each parameter,
/// made up from both their numbers, so that sums are the same in any order.
///   math    gradient = mean over the batch of value(example, i) + pull * w[i];
///           loss = mean over the batch of the examples' numbers
class number_model {
public:
    using batch_type = numbered::batch_type;

    explicit number_model(sotto::layout tensors = small_layout()) : tensors_(std::move(tensors)) {}

    announces order = announces::last_to_first;
    float pull = 0.0f;
    /// Called with 0 before the gradient is computed, and with k after k tensors were announced.
    std::function<void(int)> on_progress{};
    /// May change the gradient before any of it is announced.
    std::function<void(std::span<float>)> spoil{};

    const sotto::layout& layout() const noexcept { return tensors_; }

    void initialise(std::span<float> parameters, random_stream random) const {
        for (float& w : parameters) w = static_cast<float>(random.below(33)) - 16.0f;
    }

    double gradient(std::span<const float> parameters, const batch_type& batch,
                    std::span<float> out, auto&& on_ready) {
        int announced = 0;
        if (on_progress) on_progress(announced);
        for (std::size_t i = 0; i < out.size(); ++i) {
            std::int64_t sum = 0;
            for (const std::int64_t example : batch) sum += value(example, i);
            const double mean = static_cast<double>(sum) / static_cast<double>(batch.size());
            out[i] = static_cast<float>(mean) + pull * parameters[i];
        }
        if (spoil) spoil(out);
        const auto count = tensors_.tensors().size();
        for (std::size_t k = 0; k < count; ++k) {
            if (order == announces::none || (order == announces::some && k % 2 == 0)) continue;
            on_ready(tensors_.tensors()[place(k, count)]);
            if (on_progress) on_progress(++announced);
        }
        return loss(parameters, batch);
    }

    double loss(std::span<const float>, const batch_type& batch) {
        const auto sum = std::accumulate(batch.begin(), batch.end(), std::int64_t{0});
        return static_cast<double>(sum) / static_cast<double>(batch.size());
    }

    /// -8..8
    static std::int64_t value(std::int64_t example, std::size_t i) noexcept {
        std::uint64_t x = static_cast<std::uint64_t>(example) * 0x9E3779B97F4A7C15u + i;
        x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9u;
        x = (x ^ (x >> 27)) * 0x94D049BB133111EBu;
        return static_cast<std::int64_t>((x ^ (x >> 31)) % 17) - 8;
    }

private:
    std::size_t place(std::size_t k, std::size_t count) const noexcept {
        switch (order) {
            case announces::first_to_last: return k;
            case announces::outside_in: return k % 2 == 0 ? k / 2 : count - 1 - k / 2;
            default: return count - 1 - k;
        }
    }

    sotto::layout tensors_;
};

}  // namespace sotto::testing
