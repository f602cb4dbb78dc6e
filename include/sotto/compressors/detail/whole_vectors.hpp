#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "sotto/compressors/compressor.hpp"
#include "sotto/kernels/detail/simd/arithmetic.hpp"
#include "sotto/wire/dense_block.hpp"

namespace sotto::detail {

/// Messages of vectors, biases and normalisation, as they are: they are few, and what training
/// makes of them suffers from every error in them.
///   wire    a wire::dense_block of fp32
class whole_vectors {
public:
    /// For the vectors of a layout, or for nothing.
    whole_vectors(bool wanted, const layout& tensors) : wanted_(wanted) {
        std::int64_t largest = 0;
        for (const tensor& t : tensors)
            if (has(t)) largest = (std::max)(largest, t.size);
        decoded_.resize(static_cast<std::size_t>(largest));
    }

    /// Whether a tensor goes so.
    bool has(const tensor& t) const noexcept { return wanted_ && t.is_vector(); }

    /// The length of its message.
    std::int64_t message_bytes(const tensor& t) const noexcept {
        return sotto::wire::encoded_dense_bytes(t.size, wire::value_format::fp32);
    }

    void encode(std::span<const float> values, bytes& out) const {
        sotto::wire::encode_dense(values, wire::value_format::fp32, out);
    }

    void decode_add(const tensor& t, byte_view message, std::span<float> sum) {
        const auto values = std::span(decoded_).first(sum.size());
        kernels::add(sum, sotto::wire::decode_dense(message, values).value(message_of{t}));
    }

    /// sum -= what decode_add would add.
    void decode_subtract(const tensor& t, byte_view message, std::span<float> sum) {
        const auto values = std::span(decoded_).first(sum.size());
        kernels::subtract_scaled(sum, 1.0f,
                                 sotto::wire::decode_dense(message, values).value(message_of{t}));
    }

private:
    bool wanted_;
    std::vector<float> decoded_;
};

}  // namespace sotto::detail
