#pragma once

#include "sotto/compressors/detail/versioned_buffer.hpp"

#include "sotto/core/config.hpp"

namespace sotto::detail {

SOTTO_DECL versioned_buffer::versioned_buffer(const layout& tensors)
    : values_{large_vector<float>(static_cast<std::size_t>(tensors.size())),
              large_vector<float>(static_cast<std::size_t>(tensors.size()))},
      current_(tensors.tensors().size()),
      written_(tensors.tensors().size()) {}

SOTTO_DECL std::span<const float> versioned_buffer::committed(const tensor& t) const noexcept {
    return t.of(std::span<const float>(values_[current_[slot(t)]]));
}

SOTTO_DECL std::span<float> versioned_buffer::next(const tensor& t) noexcept {
    written_[slot(t)] = 1;
    return t.of(std::span<float>(values_[1 - current_[slot(t)]]));
}

SOTTO_DECL void versioned_buffer::commit() noexcept {
    for (std::size_t i = 0; i < written_.size(); ++i) current_[i] ^= written_[i];
    rollback();
}

SOTTO_DECL std::span<float> versioned_buffer::committed(const tensor& t) noexcept {
    return t.of(std::span<float>(values_[current_[slot(t)]]));
}

}  // namespace sotto::detail
