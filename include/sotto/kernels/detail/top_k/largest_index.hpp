#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>

#include "sotto/core/config.hpp"
#include "sotto/kernels/detail/simd/run_on.hpp"
#include "sotto/kernels/detail/simd/vector.hpp"
#include "sotto/kernels/instruction_set.hpp"

namespace sotto::detail::kernels::inline SOTTO_UNIT {

struct largest_index {
    template <instruction_set Set>
    SOTTO_INLINE static std::uint32_t run(const std::uint32_t* x, std::size_t count) noexcept {
        constexpr std::size_t lanes = lanes_of(Set);
        using vector = words<lanes_of(Set)>;
        vector most = {};
        std::size_t i = 0;
        for (; i + lanes <= count; i += lanes) {
            vector more;
            load(more, x + i);
            most = more > most ? more : most;
        }
        std::uint32_t largest = 0;
        for (std::size_t lane = 0; lane < lanes; ++lane) largest = (std::max)(largest, most[lane]);
        const std::size_t rest = count % lanes;
        for (std::size_t lane = 0; lane < rest; ++lane) largest = (std::max)(largest, x[i + lane]);
        return largest;
    }
};

/// Returns the position of the first index that is not below `size`, or the number of indices if
/// there is none. That case takes one vectorised pass.
inline std::size_t first_beyond(std::span<const std::uint32_t> indices, std::size_t size) noexcept {
    if (indices.empty() ||
        run_widest<largest_index>(indices.data(), indices.size()) < size) [[likely]]
        return indices.size();
    const auto found =
        std::find_if(indices.begin(), indices.end(), [&](auto index) { return index >= size; });
    return static_cast<std::size_t>(found - indices.begin());
}

}  // namespace sotto::detail::kernels::inline SOTTO_UNIT
