#pragma once

#include "sotto/compressors/detail/whole_vectors.hpp"

#include <algorithm>
#include <cstddef>

#include "sotto/core/config.hpp"
#include "sotto/kernels/detail/simd/arithmetic.hpp"
#include "sotto/wire/dense_block.hpp"

namespace sotto::detail {

SOTTO_DECL whole_vectors::whole_vectors(bool wanted, const layout& tensors) : wanted_(wanted) {
    std::int64_t largest = 0;
    for (const tensor& t : tensors)
        if (has(t)) largest = (std::max)(largest, t.size);
    decoded_.resize(static_cast<std::size_t>(largest));
}

SOTTO_DECL std::int64_t whole_vectors::message_bytes(const tensor& t) const noexcept {
    return sotto::wire::encoded_dense_bytes(t.size, wire::value_format::fp32);
}

SOTTO_DECL void whole_vectors::encode(std::span<const float> values, bytes& out) const {
    sotto::wire::encode_dense(values, wire::value_format::fp32, out);
}

SOTTO_DECL void whole_vectors::decode_add(const tensor& t, byte_view message,
                                          std::span<float> sum) {
    const auto values = std::span(decoded_).first(sum.size());
    kernels::add(sum, sotto::wire::decode_dense(message, values).value(message_of{t}));
}

SOTTO_DECL void whole_vectors::decode_subtract(const tensor& t, byte_view message,
                                               std::span<float> sum) {
    const auto values = std::span(decoded_).first(sum.size());
    kernels::subtract_scaled(sum, 1.0f,
                             sotto::wire::decode_dense(message, values).value(message_of{t}));
}

}  // namespace sotto::detail
