#pragma once

#include <cstdint>
#include <span>

#include "sotto/compressors/compressor.hpp"
#include "sotto/compressors/detail/whole_vectors.hpp"

namespace sotto {

/// One bit a value: its sign, and for each tensor the mean of the magnitudes. By itself it forgets
/// how values differ, and does not converge in general; `error_feedback{scaled_sign{}}` is signSGD
/// with error feedback.
///   math    C(g) = (||g||_1 / n) sign(g), where 0 counts as positive and -0 as negative;
///           ||C(g) - g||^2 = (1 - d) ||g||^2 with d = ||g||_1^2 / (n ||g||_2^2), from 1 / n to 1
///   wire    a wire::sign_block a tensor: n / 8 + 4 bytes; with dense_vectors, vectors as they are
///   cost    reads a gradient once; decode reads an eighth of a byte a value. Messages are
///           gathered: from 65 ranks on they are more bytes than whole gradients that are summed,
///           see collectives::fitting
///   errors  encode throws non_finite when the mean is; decode_add throws malformed
///   source  Karimireddy, Rebjock, Stich, Jaggi 2019, Error feedback fixes SignSGD and other
///           gradient compression schemes, arXiv:1901.09847
struct scaled_sign {
    bool dense_vectors = true;  // vectors as they are

    class state;
    state bind(const layout& tensors) const;
    void describe(auto&& field) const { field("dense_vectors", dense_vectors); }
};

class scaled_sign::state {
public:
    state(const scaled_sign& options, const layout& tensors)
        : vectors_(options.dense_vectors, tensors) {}

    void encode(const tensor& t, std::span<const float> gradient, bytes& out);

    void decode_add(const tensor& t, byte_view message, std::span<float> sum);

    /// sum -= what decode_add would add.
    void decode_subtract(const tensor& t, byte_view message, std::span<float> sum);

    std::int64_t message_bytes_max(const tensor& t) const noexcept;

private:
    detail::whole_vectors vectors_;
};

inline scaled_sign::state scaled_sign::bind(const layout& tensors) const {
    return {*this, tensors};
}

}  // namespace sotto

#ifndef SOTTO_SEPARATE_COMPILATION
#include "sotto/compressors/scaled_sign.ipp"
#endif
