#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "sotto/compressors/compressor.hpp"

namespace sotto::detail {

/// Messages of vectors, biases and normalisation, as they are: they are few, and what training
/// makes of them suffers from every error in them.
///   wire    a wire::dense_block of fp32
class whole_vectors {
public:
    /// For the vectors of a layout, or for nothing.
    whole_vectors(bool wanted, const layout& tensors);

    /// Whether a tensor goes so.
    bool has(const tensor& t) const noexcept { return wanted_ && t.is_vector(); }

    /// The length of its message.
    std::int64_t message_bytes(const tensor& t) const noexcept;

    void encode(std::span<const float> values, bytes& out) const;

    void decode_add(const tensor& t, byte_view message, std::span<float> sum);

    /// sum -= what decode_add would add.
    void decode_subtract(const tensor& t, byte_view message, std::span<float> sum);

private:
    bool wanted_;
    std::vector<float> decoded_;
};

}  // namespace sotto::detail

#ifndef SOTTO_SEPARATE_COMPILATION
#include "sotto/compressors/detail/whole_vectors.ipp"
#endif
