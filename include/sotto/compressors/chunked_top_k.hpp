#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "sotto/compressors/compressor.hpp"
#include "sotto/compressors/detail/whole_vectors.hpp"
#include "sotto/kernels/select_top_k.hpp"

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
    std::int64_t entries_of(std::int64_t n) const noexcept;

private:
    std::int64_t entries_of_chunk(std::int64_t size) const noexcept;
};

class chunked_top_k::state {
public:
    state(const chunked_top_k& options, const layout& tensors, bool encodes = true);

    void encode(const tensor& t, std::span<const float> gradient, bytes& out);

    void decode_add(const tensor& t, byte_view message, std::span<float> sum);

    /// sum -= what decode_add would add.
    void decode_subtract(const tensor& t, byte_view message, std::span<float> sum);

    std::int64_t message_bytes_max(const tensor& t) const noexcept;

private:
    /// Before any memory is taken.
    static const chunked_top_k& checked(const chunked_top_k& options, const layout& tensors);

    /// Into the front of `indices_` and `values_`; returns how many.
    std::size_t choose(std::span<const float> gradient);

    detail::sparse_view decode(const tensor& t, byte_view message);

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

#ifndef SOTTO_SEPARATE_COMPILATION
#include "sotto/compressors/chunked_top_k.ipp"
#endif
