#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "answers.hpp"
#include "digest.hpp"
#include "sotto/kernels/detail/simd/arithmetic.hpp"
#include "sotto/kernels/detail/update/averaging.hpp"
#include "sotto/kernels/detail/update/delay_compensation.hpp"
#include "sotto/kernels/dgc_step.hpp"
#include "sotto/kernels/detail/nn/elementwise.hpp"
#include "sotto/kernels/detail/nn/lstm_gates.hpp"
#include "sotto/kernels/detail/nn/normalise.hpp"
#include "sotto/kernels/detail/quantise/one_bit.hpp"
#include "sotto/kernels/detail/quantise/quantise.hpp"
#include "sotto/kernels/detail/simd/reductions.hpp"
#include "sotto/kernels/select_top_k_of_many.hpp"
#include "sotto/kernels/detail/quantise/signs.hpp"
#include "sotto/kernels/sparse_add.hpp"
#include "sotto/kernels/detail/quantise/ternary.hpp"
#include "sotto/kernels/detail/nn/sigmoid_tanh.hpp"
#include "sotto/kernels/detail/update/updates.hpp"
#include "std_vectors.hpp"

// The kernels that uses.hpp leaves out, so that all but those of teams are in both units.
namespace {

void answer_about_sums(const questions& asked, std::uint64_t*& digest) {
    constexpr std::size_t n = questions::n;
    namespace kernels = sotto::kernels;
    const std::span<const float> gradient(asked.gradient, n), start(asked.weights, n);
    static std::array<float, n> weights, other;
    std::copy(start.begin(), start.end(), weights.begin());
    std::copy(start.begin(), start.end(), other.begin());

    sotto::detail::kernels::scale(weights, 0.3f);
    sotto::detail::kernels::add(weights, start);
    sotto::detail::kernels::subtract_scaled(weights, 0.7f, start);
    *digest++ = digest_of(weights);

    const double sums[] = {sotto::detail::kernels::sum_of_squares(start),
                           sotto::detail::kernels::scale_and_sum_squares(weights, 0.5f),
                           sotto::detail::kernels::squared_distance(start, weights),
                           static_cast<double>(sotto::detail::kernels::max_magnitude(gradient)),
                           static_cast<double>(sotto::detail::kernels::first_non_finite(gradient))};
    *digest++ = digest_of(std::span<const double>(sums));

    const sotto::detail::kernels::weighted_values neighbours[] = {{0.25f, start}, {0.25f, weights}};
    sotto::detail::kernels::average(0.5f, other, neighbours);
    *digest++ = digest_of(other);

    const std::uint32_t places[] = {3, 70, 3, 5000};
    kernels::add_sparse(other, {{places, start.first(4)}, {places, gradient.first(4)}});
    sotto::detail::kernels::descend_at(0.1f, other, start, places);
    *digest++ = digest_of(other);

    sotto::detail::kernels::descend_compensated(0.1f, 0.04f, other, start, weights);
    static std::array<float, n> squares;
    squares.fill(0.0f);
    sotto::detail::kernels::descend_compensated(
        0.1f, sotto::detail::kernels::adaptive_compensation{}, other, start, weights, squares);
    *digest++ = digest_of(other) ^ digest_of(squares);

    sotto::detail::kernels::sum(other, start, other);
    sotto::detail::kernels::product(other, start, other);
    sotto::detail::kernels::rectified_sum(other, start, other);
    sotto::detail::kernels::where_positive(start, other, weights);
    sotto::detail::kernels::copy_rows(weights.data(), other.data(), 10, 100, 150);
    sotto::detail::kernels::sigmoid(other, other);
    *digest++ = digest_of(other);

    static std::array<float, 800> gates, bias;
    static std::array<float, 200> cell, squashed, out, after;
    std::copy_n(start.begin(), gates.size(), gates.begin());
    std::copy_n(start.begin() + 1000, bias.size(), bias.begin());
    sotto::detail::kernels::lstm_forward({200, bias, gates, {}, cell, squashed, out});
    std::copy_n(start.begin(), after.size(), after.begin());
    sotto::detail::kernels::lstm_backward({200, gates, {}, squashed, out, after, bias});
    *digest++ = digest_of(out) ^ digest_of(after) ^ digest_of(bias);

    // These may differ in the last bits from set to set, and so between units: no digest.
    const auto deviations = sotto::detail::kernels::sums_of_deviations(start, 0.1f);
    const sotto::detail::kernels::normalisation how{deviations.first, deviations.second, 0.1f,
                                                    true};
    sotto::detail::kernels::normalise(start, weights, how);
    sotto::detail::kernels::sums_of_gradients(start, weights, how);
    sotto::detail::kernels::normalise_back(start, weights, other, how, 0.1f, 0.2f);
}

template <int Bits>
std::uint64_t digest_of_codes(std::span<const float> x, sotto::detail::kernels::rounding rounding) {
    constexpr std::size_t n = questions::n, block = 256;
    namespace kernels = sotto::kernels;
    static std::array<float, sotto::detail::kernels::blocks_of(n, block)> scales;
    static std::array<std::uint8_t, sotto::detail::kernels::bytes_of_codes(n, Bits)> codes;
    static std::array<float, n> sum, residual;
    residual.fill(0.01f);
    const sotto::detail::kernels::quantisation how{block, rounding, 7, 512};
    sotto::detail::kernels::quantise<Bits>(how, x, scales, codes);
    sotto::detail::kernels::dequantise<Bits>(block, scales, codes, sum);
    const std::uint64_t without = digest_of(codes) ^ digest_of(scales);
    sotto::detail::kernels::quantise_with_feedback<Bits>(how, x, residual, scales, codes);
    sotto::detail::kernels::dequantise_add<Bits>(block, scales, codes, sum);
    return without ^ digest_of(codes) ^ digest_of(sum) ^ digest_of(residual);
}

void answer_about_codes(const questions& asked, std::uint64_t*& digest) {
    constexpr std::size_t n = questions::n, block = 256, blocks = 20;
    namespace kernels = sotto::kernels;
    const std::span<const float> x(asked.weights, n);
    using sotto::detail::kernels::rounding;
    *digest++ = digest_of_codes<8>(x, sotto::detail::kernels::rounding::nearest);
    *digest++ = digest_of_codes<8>(x, sotto::detail::kernels::rounding::stochastic);
    *digest++ = digest_of_codes<4>(x, sotto::detail::kernels::rounding::nearest);
    *digest++ = digest_of_codes<4>(x, sotto::detail::kernels::rounding::stochastic);
    *digest++ = digest_of_codes<2>(x, sotto::detail::kernels::rounding::nearest);
    *digest++ = digest_of_codes<2>(x, sotto::detail::kernels::rounding::stochastic);

    static std::array<float, blocks> scales;
    static std::array<std::uint8_t, sotto::detail::kernels::bytes_of_codes(n, 2)> codes;
    sotto::detail::kernels::ternarise({.block = block, .seed = 3}, x, scales, codes);
    *digest++ = digest_of(codes) ^ digest_of(scales);

    static std::array<std::uint8_t, sotto::detail::kernels::bytes_of_signs(n)> signs;
    static std::array<float, n> sum;
    sotto::detail::kernels::pack_signs(x, signs);
    sotto::detail::kernels::unpack_signs(signs, 0.1f, sum);
    sotto::detail::kernels::unpack_signs_add(signs, 0.7f, sum);
    *digest++ = digest_of(signs) ^ digest_of(sum);

    static std::array<sotto::detail::kernels::sign_means, blocks> means;
    static std::array<float, n> residual;
    residual.fill(0.01f);
    sotto::detail::kernels::quantise_one_bit(block, x, residual, means, signs);
    sotto::detail::kernels::dequantise_one_bit(block, means, signs, sum);
    sotto::detail::kernels::dequantise_one_bit_add(block, means, signs, sum);
    *digest++ = digest_of(signs) ^ digest_of(sum) ^ digest_of(residual);
}

void answer_about_selections(const questions& asked, std::uint64_t*& digest) {
    constexpr std::size_t n = questions::n;
    namespace kernels = sotto::kernels;
    const std::span<const float> gradient(asked.gradient, n);
    static std::array<float, n> velocity, accumulated;
    velocity.fill(0.125f);
    accumulated.fill(0.25f);
    kernels::top_k_scratch scratch;
    sotto::detail::kernels::carried_threshold carried;
    for (int step = 0; step < 3; ++step) {
        const auto found = kernels::dgc_step(
            {.nesterov = true}, {gradient, velocity, accumulated, velocity, accumulated}, 50, true,
            scratch, carried);
        *digest = digest_of(found.indices) ^ digest_of(found.values);
    }
    *digest++ ^= digest_of(velocity) ^ digest_of(accumulated);

    kernels::many_top_k_scratch many;
    const std::span<const float> tensors[] = {gradient.first(1000), gradient.subspan(1000)};
    *digest = 0;
    for (const auto& found : kernels::select_top_k_of_all(tensors, 100, many))
        *digest ^= digest_of(found.indices);
    ++digest;

    // select_top_k_of_each is not used: its std::vector of results grows by a function of std's
    // that clang compiles in both units.
    // thread_team and team_top_k are not used, since both units would then have the helpers of
    // std::atomic::wait under one name; what is theirs beside these is the units' own.
}

}  // namespace
