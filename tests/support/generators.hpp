#pragma once

#include <cstdint>
#include <vector>

#include "sotto/core/layout.hpp"
#include "sotto/core/random.hpp"

namespace sotto::testing {

inline std::vector<float> normal_values(std::int64_t n, std::uint64_t seed) {
    random_stream random(seed);
    std::vector<float> values(static_cast<std::size_t>(n));
    for (float& value : values) value = random.normal();
    return values;
}

/// Between -1 and 1.
inline std::vector<float> uniform_values(std::int64_t n, std::uint64_t seed) {
    random_stream random(seed);
    std::vector<float> values(static_cast<std::size_t>(n));
    for (float& value : values) value = random.uniform(-1.0f, 1.0f);
    return values;
}

/// Small integers: sums of thousands of them are exact in a float, in any order.
inline std::vector<float> integer_values(std::int64_t n, std::uint64_t seed) {
    random_stream random(seed);
    std::vector<float> values(static_cast<std::size_t>(n));
    for (float& value : values) value = static_cast<float>(random.below(17)) - 8.0f;
    return values;
}

/// Two matrices, a bias and an empty tensor.
inline layout small_layout() {
    layout tensors;
    tensors.add("first.weight", {12, 25});
    tensors.add("first.bias", {12}, tensor_kind::bias);
    tensors.add("nothing", {0, 3});
    tensors.add("second.weight", {70, 10});
    return tensors;
}

}  // namespace sotto::testing
