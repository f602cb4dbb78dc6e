#pragma once

#include "sotto/kernels/detail/simd/reductions.hpp"

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>

#include "sotto/core/config.hpp"
#include "sotto/core/detail/memory/finite.hpp"
#include "sotto/kernels/detail/simd/each_lane.hpp"
#include "sotto/kernels/detail/simd/require.hpp"
#include "sotto/kernels/detail/simd/sums.hpp"
#include "sotto/kernels/detail/simd/unfused.hpp"
#include "sotto/kernels/detail/simd/vector.hpp"
#include "sotto/kernels/instruction_set.hpp"

namespace sotto::detail::kernels::inline SOTTO_UNIT {

SOTTO_DECL double sum_of_squares(std::span<const float> x) noexcept {
    return run_unfused<sum_squares>(sotto::kernels::best_instruction_set(), single_values{x.data()},
                                    x.size());
}

SOTTO_DECL double scale_and_sum_squares(std::span<float> x, float factor) noexcept {
    return run_unfused<sum_squares>(sotto::kernels::best_instruction_set(),
                                    scaled_values{factor, x.data()}, x.size());
}

SOTTO_DECL double squared_distance(std::span<const float> a, std::span<const float> b) {
    require_size_of({"a", a.size()}, {{"b", b.size()}}, "squared_distance");
    return run_unfused<sum_squares>(sotto::kernels::best_instruction_set(),
                                    differences{a.data(), b.data()}, a.size());
}

/// Returns the largest |x|, 0 for none; NaN if there is one. `_in`: floats at any address.
///   cost    one read
inline float max_magnitude_in(std::span<const std::byte> x) noexcept {
    return std::bit_cast<float>(run_unfused<max_bits>(sotto::kernels::best_instruction_set(),
                                                      x.data(), x.size() / sizeof(float)));
}

SOTTO_DECL float max_magnitude(std::span<const float> x) noexcept {
    return max_magnitude_in(std::as_bytes(x));
}

SOTTO_DECL std::int64_t first_non_finite_in(std::span<const std::byte> x) noexcept {
    constexpr std::size_t block = 65536;  // a block with such a value is read again, from the cache
    for (std::size_t start = 0; start < x.size(); start += block) {
        const auto part = x.subspan(start, (std::min)(block, x.size() - start));
        if (is_finite(max_magnitude_in(part))) continue;
        for (std::size_t at = 0; at + sizeof(float) <= part.size(); at += sizeof(float)) {
            float value;
            load(value, part.data() + at);
            if (!is_finite(value)) return static_cast<std::int64_t>((start + at) / sizeof(float));
        }
    }
    return -1;
}

SOTTO_DECL std::int64_t first_non_finite(std::span<const float> x) noexcept {
    return first_non_finite_in(std::as_bytes(x));
}

}  // namespace sotto::detail::kernels::inline SOTTO_UNIT
