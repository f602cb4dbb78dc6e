#pragma once

#include <array>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <limits>
#include <span>
#include <vector>

#include "sotto/core/random.hpp"
#include "sotto/kernels/instruction_set.hpp"

namespace sotto::testing {

/// Calls `f(set)` for every instruction set that this processor has.
void on_every_set(auto&& f) {
    for (auto set = sotto::detail::kernels::instruction_set::baseline;
         set <= kernels::best_instruction_set();
         set = static_cast<sotto::detail::kernels::instruction_set>(static_cast<int>(set) + 1))
        f(set);
}

/// Calls `f(n, shift)` for lengths up to four of the widest registers and a few more, at several
/// misalignments.
void at_every_length(auto&& f) {
    for (std::size_t n = 0; n <= 4 * 16 + 3; ++n)
        for (const std::size_t shift : {0u, 1u, 3u}) f(n, shift);
}

/// Normal values; every fourth is a zero, a denormal, or so large or small that its square leaves
/// the range.
inline std::vector<float> uneven_values(std::size_t n, std::uint64_t seed) {
    constexpr float odd[] = {0.0f,  -0.0f,  1e-40f, -std::numeric_limits<float>::denorm_min(),
                             1e30f, -3e38f, 1e-30f, std::numeric_limits<float>::min()};
    random_stream random(seed);
    std::vector<float> values(n);
    for (float& value : values)
        value = random.below(4) == 0 ? odd[random.below(std::size(odd))] : random.normal();
    return values;
}

/// The same with infinities and NaNs as well.
inline std::vector<float> any_values(std::size_t n, std::uint64_t seed) {
    constexpr float infinity = std::numeric_limits<float>::infinity();
    constexpr float odd[] = {infinity, -infinity, std::numeric_limits<float>::quiet_NaN()};
    auto values = uneven_values(n, seed);
    random_stream random(seed + 1);
    for (float& value : values)
        if (random.below(16) == 0) value = odd[random.below(std::size(odd))];
    return values;
}

/// Bit for bit, but for what a NaN carries.
inline bool same_values(std::span<const float> a, std::span<const float> b) {
    bool same = a.size() == b.size();
    for (std::size_t i = 0; same && i < a.size(); ++i)
        same = (std::isnan(a[i]) && std::isnan(b[i])) ||
               std::bit_cast<std::uint32_t>(a[i]) == std::bit_cast<std::uint32_t>(b[i]);
    return same;
}

/// Checks a step over dense arrays against a plain loop, on every set, at every length: it may
/// change what the loop changes and nothing around it.
///   step(set, arrays)    the kernel, on spans of one length
///   plain(arrays, i)     the same for element i
template <std::size_t Arrays>
bool same_as_plain(auto&& step, auto&& plain) {
    using arrays = std::array<std::span<float>, Arrays>;
    bool same = true;
    on_every_set([&](sotto::detail::kernels::instruction_set set) {
        at_every_length([&](std::size_t n, std::size_t shift) {
            std::array<std::vector<float>, Arrays> found, expected;
            arrays inner, plain_inner;
            for (std::size_t a = 0; a < Arrays; ++a) {
                found[a] = expected[a] = any_values(n + shift + 5, 97 * n + 7 * a + shift);
                inner[a] = std::span(found[a]).subspan(shift, n);
                plain_inner[a] = std::span(expected[a]).subspan(shift, n);
            }
            step(set, inner);
            for (std::size_t i = 0; i < n; ++i) plain(plain_inner, i);
            for (std::size_t a = 0; a < Arrays; ++a) same &= same_values(found[a], expected[a]);
        });
    });
    return same;
}

}  // namespace sotto::testing
