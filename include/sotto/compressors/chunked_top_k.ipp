#pragma once

#include "sotto/compressors/chunked_top_k.hpp"

#include <algorithm>
#include <string>

#include "sotto/core/config.hpp"
#include "sotto/core/detail/memory/finite.hpp"
#include "sotto/core/errors.hpp"
#include "sotto/core/require_option.hpp"
#include "sotto/kernels/detail/simd/reductions.hpp"
#include "sotto/kernels/detail/top_k/value_bins.hpp"
#include "sotto/kernels/sparse_add.hpp"
#include "sotto/wire/detail/blocks/codebook_block.hpp"

namespace sotto {

SOTTO_DECL std::int64_t chunked_top_k::entries_of(std::int64_t n) const noexcept {
    return n / chunk * kept + entries_of_chunk(n % chunk);
}

SOTTO_DECL std::int64_t chunked_top_k::entries_of_chunk(std::int64_t size) const noexcept {
    return (kept * size + chunk - 1) / chunk;
}

SOTTO_DECL chunked_top_k::state::state(const chunked_top_k& options, const layout& tensors,
                                       bool encodes)
    : options_(checked(options, tensors)), vectors_(options.dense_vectors, tensors) {
    std::int64_t most = 0, longest = 0;
    for (const tensor& t : tensors) {
        if (vectors_.has(t)) continue;
        most = (std::max)(most, options_.entries_of(t.size));
        longest = (std::max)(longest, (std::min)(t.size, options_.chunk));
    }
    indices_.resize(static_cast<std::size_t>(most));
    values_.resize(static_cast<std::size_t>(most));
    if (!encodes) return;
    codes_.resize(static_cast<std::size_t>(most));
    scratch_.reserve(longest, options_.entries_of_chunk(longest));
}

SOTTO_DECL void chunked_top_k::state::encode(const tensor& t, std::span<const float> gradient,
                                             bytes& out) {
    if (vectors_.has(t)) return vectors_.encode(gradient, out);
    const std::size_t count = choose(gradient);
    const auto values = std::span<const float>(values_).first(count);
    if (!detail::kernels::is_finite(detail::kernels::sum_of_squares(values)))
        throw error(errc::non_finite,
                    "chunked_top_k: what is to be sent of tensor '" + t.name +
                        "' is not finite: element " +
                        std::to_string(detail::kernels::first_non_finite(gradient)));
    const auto codes = std::span(codes_).first(count);
    const detail::kernels::value_bins bins = detail::kernels::bin_values(values, codes);
    detail::wire::encode_codebook(t.size, std::span<const std::uint32_t>(indices_).first(count),
                                  codes, bins.used(), out);
}

SOTTO_DECL void chunked_top_k::state::decode_add(const tensor& t, byte_view message,
                                                 std::span<float> sum) {
    if (vectors_.has(t)) return vectors_.decode_add(t, message, sum);
    const auto entries = decode(t, message);
    kernels::add_sparse(sum, detail::kernels::sparse_values{entries.indices, entries.values});
}

SOTTO_DECL void chunked_top_k::state::decode_subtract(const tensor& t, byte_view message,
                                                      std::span<float> sum) {
    if (vectors_.has(t)) return vectors_.decode_subtract(t, message, sum);
    const auto entries = decode(t, message);
    for (std::size_t j = 0; j < entries.indices.size(); ++j)
        sum[entries.indices[j]] -= entries.values[j];
}

SOTTO_DECL std::int64_t chunked_top_k::state::message_bytes_max(const tensor& t) const noexcept {
    return vectors_.has(t)
               ? vectors_.message_bytes(t)
               : detail::wire::encoded_codebook_bytes_max(t.size, options_.entries_of(t.size));
}

SOTTO_DECL const chunked_top_k& chunked_top_k::state::checked(const chunked_top_k& options,
                                                              const layout& tensors) {
    constexpr std::int64_t most = std::int64_t{1} << 32;
    require_option("chunked_top_k", "chunk", options.chunk,
                   detail::allowed::at_least(1).at_most(most));
    require_option("chunked_top_k", "kept", options.kept,
                   detail::allowed::at_least(1).at_most(options.chunk), ", the size of a chunk");
    // The product of the two is computed.
    if (options.kept > (std::int64_t{1} << 62) / options.chunk)
        throw invalid_option("chunked_top_k: kept is " + std::to_string(options.kept) +
                             " of chunks of " + std::to_string(options.chunk) +
                             "; their product must be at most 2^62");
    for (const tensor& t : tensors)
        if (t.size > most)
            throw invalid_option("chunked_top_k: tensor '" + t.name + "' has " +
                                 std::to_string(t.size) +
                                 " elements; a codebook block indexes at most 2^32: split it "
                                 "in the layout");
    return options;
}

SOTTO_DECL std::size_t chunked_top_k::state::choose(std::span<const float> gradient) {
    const auto size = static_cast<std::size_t>(options_.chunk);
    std::size_t count = 0;
    for (std::size_t first = 0; first < gradient.size(); first += size) {
        const auto part = gradient.subspan(first, (std::min)(size, gradient.size() - first));
        const auto k = options_.entries_of_chunk(static_cast<std::int64_t>(part.size()));
        const kernels::selection chosen =
            kernels::select_top_k(part, k, scratch_, kernels::nan_policy::largest);
        for (std::size_t j = 0; j < chosen.indices.size(); ++j) {
            indices_[count] = static_cast<std::uint32_t>(first) + chosen.indices[j];
            values_[count] = chosen.values[j];
            count += detail::is_zero(chosen.values[j]) ? 0 : 1;
        }
    }
    return count;
}

SOTTO_DECL detail::sparse_view chunked_top_k::state::decode(const tensor& t, byte_view message) {
    const auto entries =
        detail::wire::decode_codebook(message, t.size, std::span(indices_), std::span(values_))
            .value(detail::message_of{t});
    return {entries.indices, entries.values};
}

}  // namespace sotto
