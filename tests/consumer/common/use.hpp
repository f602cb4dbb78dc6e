#pragma once

#include <cstdint>
#include <string>

#include "everything.hpp"

// The same small use of sotto in every translation unit of a consumer: the linker then meets our
// inline functions once per set of flags and keeps one.
inline std::uint64_t use(std::uint64_t seed) {
    sotto::layout layout;
    layout.add("dense1.weight", {4, 3}).add("dense1.bias", {4}, sotto::tensor_kind::bias);
    sotto::random_stream random(seed);
    std::uint64_t sum = static_cast<std::uint64_t>(layout.size());
    for (std::int64_t i = 0; i < layout.size(); ++i) sum = 31 * sum + random.bits64();
    try {
        layout.add("dense1.bias", {1});
    } catch (const sotto::invalid_option& refused) {
        sum += std::string(refused.what()).size();
    }
    return sum;
}

std::uint64_t use_strictly(std::uint64_t seed);  // compiled with every warning an error
std::uint64_t use_widely(std::uint64_t seed);    // compiled for a newer processor
