#pragma once

#include "sotto/kernels/sparse_add.hpp"

#include <cstddef>
#include <string>

#include "sotto/core/config.hpp"
#include "sotto/kernels/detail/simd/require.hpp"
#include "sotto/kernels/detail/top_k/largest_index.hpp"

namespace sotto::detail::kernels::inline SOTTO_UNIT {

inline void check_indices(const sparse_values& entries, std::size_t message, std::size_t size) {
    const auto& indices = entries.indices;
    if (indices.size() != entries.values.size()) [[unlikely]]
        refuse("add_sparse",
               "message " + std::to_string(message) + " has " + std::to_string(indices.size()) +
                   " indices and " + std::to_string(entries.values.size()) + " values",
               "a value for every index");
    const std::size_t at = first_beyond(indices, size);
    if (at == indices.size()) [[likely]]
        return;
    refuse("add_sparse",
           "entry " + std::to_string(at) + " of message " + std::to_string(message) +
               " has index " + std::to_string(indices[at]),
           "less than " + std::to_string(size) + ", the size of the sum");
}

inline void add_entries(const sparse_values& entries, float* sum) noexcept {
    // Far enough ahead to keep several lines in flight from memory.
    constexpr std::size_t ahead = 32;
    const std::uint32_t* indices = entries.indices.data();
    const float* values = entries.values.data();
    const std::size_t count = entries.indices.size();
    std::size_t j = 0;
    for (; j + ahead < count; ++j) {
        __builtin_prefetch(sum + indices[j + ahead], 1);
        sum[indices[j]] += values[j];
    }
    for (; j < count; ++j) sum[indices[j]] += values[j];
}

}  // namespace sotto::detail::kernels::inline SOTTO_UNIT

namespace sotto::kernels {
inline namespace SOTTO_UNIT {

SOTTO_DECL void add_sparse(std::span<float> sum,
                           std::span<const detail::kernels::sparse_values> messages) {
    for (std::size_t m = 0; m < messages.size(); ++m)
        detail::kernels::check_indices(messages[m], m, sum.size());
    for (const detail::kernels::sparse_values& entries : messages)
        detail::kernels::add_entries(entries, sum.data());
}

}  // namespace SOTTO_UNIT
}  // namespace sotto::kernels
