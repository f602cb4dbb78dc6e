#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "sotto/compressors/compressor.hpp"
#include "sotto/compressors/detail/quantising_state.hpp"
#include "sotto/kernels/detail/quantise/quantise.hpp"
#include "sotto/kernels/detail/quantise/quantise_by_norm.hpp"

namespace sotto {

/// Codes of a few bits in steps of each bucket's norm, rounded up or down at random, so that the
/// mean of many is the gradient itself. Nothing is remembered.
///   math    L = 2^(bits - 1) - 1: 1, 7 or 127 steps;  Q(g)_k = s sign(g_k) x_k / L, where s is the
///           bucket's norm and x_k is L |g_k| / s, rounded down or up with the probabilities that
///           make E[Q(g)] = g;  E ||Q(g) - g||^2 <= min(d / L^2, sqrt(d) / L) ||g||^2 for buckets
///           of d values. Ranks draw apart: the error of a sum of N grows by their root alone
///   wire    see quantising_state: bits / 8 bytes a value and 4 bytes a bucket
///   cost    encode reads a gradient once, decode reads a message once and adds. Messages are
///           gathered: for more than 64 / bits ranks they are more bytes than whole gradients that
///           are summed, see collectives::fitting
///   errors  bind throws invalid_option: bits other than 2, 4 and 8, a bucket that is no power of
///           two from 256 to 2^20; encode throws non_finite; decode_add throws malformed
///   source  Alistarh et al. 2017, QSGD, arXiv:1610.02132
struct qsgd {
    /// What the steps of a bucket's codes are measured by.
    enum norms : std::uint8_t {
        euclidean,  // the paper's theory: many codes become 0
        maximum,    // the largest magnitude: finer steps, and never more variance
    };

    std::int64_t bits = 4;      // of a code, its sign among them: 2, 4 or 8
    std::int64_t bucket = 512;  // d: values that share a norm
    norms norm = euclidean;     // s
    std::uint64_t seed = 0;     // of the draws; ranks split it
    bool dense_vectors = true;  // vectors as they are

    static constexpr bool unbiased = true;
    static constexpr std::string_view name = "qsgd";  // for errors
    using state = detail::quantising_state<qsgd>;
    state bind(const layout& tensors) const { return {*this, tensors}; }

    void describe(auto&& field) const {
        field("bits", bits);
        field("bucket", bucket);
        field("norm", norm);
        field("seed", seed);
        field("dense_vectors", dense_vectors);
    }

    /// omega, with E ||Q(g) - g||^2 <= omega ||g||^2.
    double variance(const tensor& t) const noexcept;

    // For quantising_state.
    /// Throws invalid_option unless bits is 2, 4 or 8.
    void check() const;
    /// Bits of a code.
    int code_bits() const noexcept { return static_cast<int>(bits); }
    /// As kernels::quantise_by_norm or kernels::quantise do.
    void quantise(std::uint64_t message_seed, std::span<const float> values,
                  std::span<float> scales, std::span<std::uint8_t> codes) const;

private:
    template <int Bits>
    void quantise_to(std::uint64_t message_seed, std::span<const float> values,
                     std::span<float> scales, std::span<std::uint8_t> codes) const {
        const auto block = static_cast<std::size_t>(bucket);
        if (norm == euclidean)
            detail::kernels::quantise_by_norm<Bits>({.block = block, .seed = message_seed}, values,
                                                    scales, codes);
        else
            detail::kernels::quantise<Bits>({.block = block,
                                             .round = detail::kernels::rounding::stochastic,
                                             .seed = message_seed},
                                            values, scales, codes);
    }
};

/// As it is written in options: "euclidean" or "maximum".
constexpr std::string_view name_of(qsgd::norms norm) noexcept {
    return norm == qsgd::euclidean ? "euclidean" : "maximum";
}

}  // namespace sotto

#ifndef SOTTO_SEPARATE_COMPILATION
#include "sotto/compressors/qsgd.ipp"
#endif
