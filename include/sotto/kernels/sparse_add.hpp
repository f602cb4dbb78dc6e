#pragma once

#include <cstdint>
#include <initializer_list>
#include <span>

#include "sotto/core/config.hpp"

namespace sotto::detail::kernels {

/// Values at some places of a longer vector. Places are 32-bit numbers, as in all selections: a
/// tensor has at most 2^32 values, and a larger model has several tensors.
struct sparse_values {
    std::span<const std::uint32_t> indices;  // places
    std::span<const float> values;           // one for each
};

}  // namespace sotto::detail::kernels

namespace sotto::kernels {
inline namespace SOTTO_UNIT {

/// Adds the messages to a dense vector in order. With the order of ranks, every rank gets the same
/// bits. An index may repeat, within a message and across messages.
///   math    sum[i[j]] += x[j]
///   shape   no message is in the sum's memory
///   cost    O(entries): one line of the sum each if they are far apart
///   errors  invalid_option, before anything is added: an index that is not below the size, naming
///           the position of the first; a message with different numbers of values and indices
void add_sparse(std::span<float> sum, std::span<const detail::kernels::sparse_values> messages);

/// The same for messages in braces, possibly none.
inline void add_sparse(std::span<float> sum,
                       std::initializer_list<detail::kernels::sparse_values> messages) {
    add_sparse(sum, std::span(messages.begin(), messages.size()));
}

/// The same for one message.
inline void add_sparse(std::span<float> sum, const detail::kernels::sparse_values& message) {
    add_sparse(sum, std::span(&message, 1));
}

}  // namespace SOTTO_UNIT
}  // namespace sotto::kernels

#ifndef SOTTO_SEPARATE_COMPILATION
#include "sotto/kernels/sparse_add.ipp"
#endif
