#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "sotto/compressors/compressor.hpp"
#include "sotto/compressors/detail/whole_vectors.hpp"
#include "sotto/core/errors.hpp"
#include "sotto/core/detail/memory/finite.hpp"
#include "sotto/core/require_option.hpp"
#include "sotto/kernels/detail/simd/reductions.hpp"
#include "sotto/kernels/select_top_k.hpp"
#include "sotto/kernels/sparse_add.hpp"
#include "sotto/kernels/detail/top_k/value_bins.hpp"
#include "sotto/wire/detail/blocks/codebook_block.hpp"

namespace sotto {

/// The entries of largest magnitude of every chunk of a tensor, each as the mean of one of four
/// bins: what SparseLoCo sends of what has accumulated. By itself it forgets the rest:
/// `error_feedback{chunked_top_k{}, 0.95}` remembers it, and `sparse_loco()` is the whole outer
/// step.
///   math    of each chunk of c elements in a row the k largest |g_i|, of equals the lower index;
///           of a last chunk of m elements ceil(k m / c); those that are 0 are not sent. The values
///           of a tensor's entries fall into bins, see kernels::bin_values; C(g)_i is the mean of
///           its bin, or 0. Contractive: ||C(g) - g||^2 = ||g||^2 - sum over bins of count mean^2,
///           which is less than ||g||^2 unless g is 0
///   shape   chunks begin anew in every tensor
///   wire    a wire::codebook_block a tensor: with 64 of 4,096 about 9.5 bits an entry, 0.15 bit an
///           element; with dense_vectors, vectors as they are
///   cost    encode 1.6 ns an element; decode 4 ns an entry, and a line of the sum. Memory: 9 bytes
///           an entry of the largest tensor, and what selecting from one chunk takes. Messages are
///           gathered
///   errors  bind throws invalid_option: a chunk below 1 or above 2^32, kept not in 1 to chunk, a
///           tensor of more than 2^32 elements; encode throws non_finite; decode_add throws
///           malformed
///   source  Sarfi et al. 2025, SparseLoCo, arXiv:2508.15706
struct chunked_top_k {
    std::int64_t chunk = 4096;   // c: elements in a row that are chosen from together
    std::int64_t kept = 64;      // entries of each chunk
    bool dense_vectors = false;  // there are few: but each takes more than 200 of a matrix

    class state;
    state bind(const layout& tensors) const;
    state bind_decoder(const layout& tensors) const;
    void describe(auto&& field) const {
        field("chunk", chunk);
        field("kept", kept);
        field("dense_vectors", dense_vectors);
    }

    /// Entries of a tensor of n elements, at most.
    std::int64_t entries_of(std::int64_t n) const noexcept {
        return n / chunk * kept + entries_of_chunk(n % chunk);
    }

private:
    std::int64_t entries_of_chunk(std::int64_t size) const noexcept {
        return (kept * size + chunk - 1) / chunk;
    }
};

class chunked_top_k::state {
public:
    state(const chunked_top_k& options, const layout& tensors, bool encodes = true)
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

    void encode(const tensor& t, std::span<const float> gradient, bytes& out) {
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

    void decode_add(const tensor& t, byte_view message, std::span<float> sum) {
        if (vectors_.has(t)) return vectors_.decode_add(t, message, sum);
        const auto entries = decode(t, message);
        kernels::add_sparse(sum, detail::kernels::sparse_values{entries.indices, entries.values});
    }

    /// sum -= what decode_add would add.
    void decode_subtract(const tensor& t, byte_view message, std::span<float> sum) {
        if (vectors_.has(t)) return vectors_.decode_subtract(t, message, sum);
        const auto entries = decode(t, message);
        for (std::size_t j = 0; j < entries.indices.size(); ++j)
            sum[entries.indices[j]] -= entries.values[j];
    }

    std::int64_t message_bytes_max(const tensor& t) const noexcept {
        return vectors_.has(t)
                   ? vectors_.message_bytes(t)
                   : detail::wire::encoded_codebook_bytes_max(t.size, options_.entries_of(t.size));
    }

private:
    /// Before any memory is taken.
    static const chunked_top_k& checked(const chunked_top_k& options, const layout& tensors) {
        constexpr std::int64_t most = std::int64_t{1} << 32;
        require_option("chunked_top_k", "chunk", options.chunk,
                       detail::allowed::at_least(1).at_most(most));
        require_option("chunked_top_k", "kept", options.kept,
                       detail::allowed::at_least(1).at_most(options.chunk),
                       ", the size of a chunk");
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

    /// Into the front of `indices_` and `values_`; returns how many.
    std::size_t choose(std::span<const float> gradient) {
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

    detail::sparse_view decode(const tensor& t, byte_view message) {
        const auto entries =
            detail::wire::decode_codebook(message, t.size, std::span(indices_), std::span(values_))
                .value(detail::message_of{t});
        return {entries.indices, entries.values};
    }

    chunked_top_k options_;
    detail::whole_vectors vectors_;
    kernels::top_k_scratch scratch_;
    std::vector<std::uint32_t> indices_;
    std::vector<float> values_;
    std::vector<std::uint8_t> codes_;
};

inline chunked_top_k::state chunked_top_k::bind(const layout& tensors) const {
    return {*this, tensors};
}

inline chunked_top_k::state chunked_top_k::bind_decoder(const layout& tensors) const {
    return {*this, tensors, false};
}

}  // namespace sotto
