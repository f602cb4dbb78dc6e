#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "answers.hpp"
#include "digest.hpp"
#include "more_uses.hpp"
#include "sotto/core/bytes.hpp"
#include "sotto/kernels/detail/quantise/half.hpp"
#include "sotto/kernels/detail/update/momentum.hpp"
#include "sotto/kernels/select_top_k.hpp"
#include "sotto/kernels/detail/nn/sigmoid_tanh.hpp"
#include "sotto/kernels/detail/update/updates.hpp"
#include "sotto/wire/sparse_block.hpp"
#include "std_vectors.hpp"

// The same uses of kernels and wire in every unit that includes this. They are the unit's own: what
// is asked is whether sotto's functions are as well.
namespace {

answers answers_of_this_unit(const questions& asked) {
    constexpr std::size_t n = questions::n;
    const std::span<const float> gradient(asked.gradient, n);
    const std::span<const float> start(asked.weights, n);
    static std::array<float, n> weights, first, second;
    static std::array<std::uint16_t, n> halves;
    answers given{};
    std::uint64_t* digest = given.digests;
    const auto reset = [&] {
        std::copy(start.begin(), start.end(), weights.begin());
        first.fill(0.125f);
        second.fill(0.125f);
    };

    constexpr std::int64_t k = 250;
    sotto::kernels::top_k_scratch scratch;
    const auto top = sotto::kernels::select_top_k(gradient, k, scratch);
    const std::uint64_t selected = digest_of(top.indices);
    *digest++ = selected ^ digest_of(top.values);

    reset();
    sotto::detail::kernels::descend_with_momentum(0.1f, 0.01f, 0.9f, true, weights, gradient,
                                                  first);
    *digest++ = digest_of(weights) ^ digest_of(first);

    reset();
    sotto::detail::kernels::descend_adamw({0.01f, 0.1f, 0.9f, 0.999f, 1e-8f, 10.0f, 1000.0f},
                                          weights, gradient, first, second);
    *digest++ = digest_of(weights) ^ digest_of(second);

    reset();
    sotto::detail::kernels::accumulate_velocity({.nesterov = true}, gradient, first, weights, first,
                                                second);
    *digest++ = digest_of(first) ^ digest_of(second);

    sotto::detail::kernels::round_to_fp16(gradient, halves);
    *digest++ = digest_of(halves);
    sotto::detail::kernels::round_to_bf16(gradient, halves);
    sotto::detail::kernels::widen_from_bf16(halves, weights);
    *digest++ = digest_of(weights);

    sotto::detail::kernels::tanh(gradient, weights);
    *digest++ = digest_of(weights);

    // fp16 converts on the way, in both directions.
    sotto::bytes block;
    sotto::wire::encode_sparse(n, top.indices, top.values, sotto::wire::value_format::fp16, block);
    *digest++ = digest_of(std::span<const std::byte>(block.data(), block.size()));
    static std::array<std::uint32_t, k> indices;
    static std::array<float, k> values;
    const auto decoded = sotto::wire::decode_sparse(sotto::byte_view(block.data(), block.size()), n,
                                                    indices, values);
    if (!decoded) return given;
    *digest++ = digest_of(indices) ^ digest_of(values);
    given.decoded_what_was_selected = digest_of(indices) == selected;

    answer_about_sums(asked, digest);
    answer_about_codes(asked, digest);
    answer_about_selections(asked, digest);
    return given;
}

}  // namespace
