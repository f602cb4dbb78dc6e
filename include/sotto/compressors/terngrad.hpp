#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "sotto/compressors/compressor.hpp"
#include "sotto/compressors/detail/quantising_state.hpp"

namespace sotto {

/// Every value as -s, 0 or s at random, where s is the largest magnitude of its bucket after
/// clipping, so that the mean of many is the clipped gradient. Nothing is remembered.
///   math    v = g clipped to c standard deviations about 0;  s = max |v|;  sign(v_k) s with
///           probability |v_k| / s, else 0, so that E[T(g)] = v. Buckets are the paper's layers,
///           but those of more than 2^20 values have several scales. Every rank has scales of its
///           own, and not the largest of all ranks, which would take another exchange: that made
///           sums of codes possible, where here messages are gathered
///   wire    see quantising_state: 2 bits a value and 4 bytes a bucket
///   cost    encode reads a gradient once, or twice where a bucket outgrows the processor's second
///           cache; decode reads a message once and adds. Messages are gathered: from 33 ranks on
///           they are more bytes than whole gradients that are summed, see collectives::fitting
///   errors  bind throws invalid_option: a clip that is not above 0, a bucket that is no power of
///           two from 256 to 2^20; encode throws non_finite; decode_add throws malformed
///   source  Wen et al. 2017, TernGrad, arXiv:1705.07878
struct terngrad {
    double clip = 2.5;  // in standard deviations; infinity: values stay as they are
    std::int64_t bucket = std::int64_t{1} << 20;  // values that share a scale
    std::uint64_t seed = 0;                       // of the draws; ranks split it
    bool dense_vectors = true;                    // vectors as they are

    static constexpr bool unbiased = true;                // of the clipped gradient
    static constexpr std::string_view name = "terngrad";  // for errors
    using state = detail::quantising_state<terngrad>;
    state bind(const layout& tensors) const { return {*this, tensors}; }

    void describe(auto&& field) const {
        field("clip", clip);
        field("bucket", bucket);
        field("seed", seed);
        field("dense_vectors", dense_vectors);
    }

    /// omega, with E ||T(g) - v||^2 <= omega ||v||^2: s and the sum of magnitudes are at most ||v||
    /// and sqrt(d) ||v||, of buckets of d values.
    double variance(const tensor& t) const noexcept;

    // For quantising_state.
    /// Throws invalid_option unless clip is above 0.
    void check() const;
    /// Bits of a code.
    int code_bits() const noexcept { return 2; }
    /// As kernels::ternarise does.
    void quantise(std::uint64_t message_seed, std::span<const float> values,
                  std::span<float> scales, std::span<std::uint8_t> codes) const;

private:
    /// Not by infinity, nor by what a float would round to it.
    bool clips() const noexcept;
    float limit() const noexcept;
};

}  // namespace sotto

#ifndef SOTTO_SEPARATE_COMPILATION
#include "sotto/compressors/terngrad.ipp"
#endif
