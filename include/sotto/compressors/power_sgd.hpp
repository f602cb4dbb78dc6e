#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "sotto/compressors/compressor.hpp"
#include "sotto/compressors/detail/low_rank_plan.hpp"
#include "sotto/compressors/detail/versioned_buffer.hpp"
#include "sotto/core/random.hpp"

namespace sotto {

/// The sum of all ranks' gradients to rank r, by one step of power iteration that goes on where the
/// last round's ended; what is left out is added to the next gradient. Factors are summed, so that
/// the bytes sent do not grow with the number of ranks, and no index is sent.
///   math    M_i = g_i + e_i, m times k;  P = sum of M_i Q, made orthonormal;  Q = sum of M_i' P;
///           the optimizer sees G = P Q';  e_i = M_i - w_i G, where w_i is the rank's share of the
///           round, 0 without data: so what was applied and the sum of all memories add up to what
///           was given. A single memory also holds what sets its rank's gradients apart from the
///           others', and only their sum has a meaning.
///           G is the projection of the sum of M_i to the columns of P: all of it where its rank is
///           at most r, to about 10^-6. Q begins with random numbers and is kept with orthonormal
///           columns, which changes nothing but its range; columns that vanish are drawn anew.
///           Momentum is the optimizer's, after the sum, as in the paper.
///           Rounds before `start_after` send whole gradients and remember nothing, as the hooks
///           of PyTorch do for 1,000: gradients change fastest then
///   wire    summed: r m floats, then r k. Vectors, and tensors of which two factors are not
///           smaller than `min_compression_rate` says, as they are. Gathered: a wire::dense_block
///           of this rank's own P and Q, for which Q begins where the last sum ended and is not
///           kept
///   cost    6 r m k operations a round; memory: 8 bytes a weight for what waits, 4 r (m + 2 k)
///           bytes for factors, and of the largest tensor 8 r max(m, k) more
///   errors  bind throws invalid_option: a rank below 1, a rate that is below 1 or not finite,
///           start_after below 0; decode_add throws malformed
///   source  Vogels, Karimireddy, Jaggi 2019, PowerSGD, arXiv:1905.13727
struct power_sgd {
    std::int64_t rank = 2;              // r
    double min_compression_rate = 2.0;  // by so much the factors must be smaller
    std::uint64_t seed = 0;             // the same on every rank
    std::int64_t start_after = 0;       // rounds with whole gradients, before the first factors

    static constexpr bool summable = true;
    static constexpr bool remembers = true;
    class state;
    state bind(const layout& tensors) const;
    state bind_decoder(const layout& tensors) const;
    void describe(auto&& field) const {
        field("rank", rank);
        field("min_compression_rate", min_compression_rate);
        field("seed", seed);
        // Only where it is chosen: checkpoints of runs without the option stay readable.
        if (start_after != 0) field("start_after", start_after);
    }
};

class power_sgd::state {
public:
    state(const power_sgd& options, const layout& tensors, bool encodes = true);

    void begin_round(const round_info& where) noexcept;

    bool sums(const tensor&) const noexcept { return true; }
    bool gathers(const tensor& t) const noexcept { return !plan_.compresses(t); }
    int payload_count(const tensor& t) const noexcept { return goes_as_factors(t) ? 2 : 1; }
    std::int64_t payload_size(const tensor& t) const noexcept;
    std::int64_t payload_size(const tensor& t, int) const noexcept { return right_of(t).size; }

    void pack(const tensor& t, std::span<const float> gradient, std::span<float> payload);

    void pack_next(const tensor& t, int, std::span<const float> payload_sum,
                   std::span<float> payload);

    void unpack(const tensor& t, std::span<const float> payload_sum, std::span<float> sum);

    void encode(const tensor& t, std::span<const float> gradient, bytes& out);

    void decode_add(const tensor& t, byte_view message, std::span<float> sum);

    std::int64_t decoding_bytes() const noexcept;

    std::int64_t message_bytes_max(const tensor& t) const noexcept;

    void commit() noexcept;
    void rollback() noexcept;

    void visit(auto&& field) {
        for (const tensor& t : tensors_) {
            if (!plan_.compresses(t)) continue;
            field("right_factor/" + t.name, right_.committed(right_of(t)), kept::alike);
            field("residual/" + t.name, error_.committed(matrix_of(t)), kept::apart);
        }
    }

    /// Whether a tensor goes as two factors, once rounds with whole gradients are over.
    bool compresses(const tensor& t) const noexcept { return plan_.compresses(t); }

    /// What this rank has not sent yet of a tensor that goes as two factors.
    std::span<const float> unsent(const tensor& t) const noexcept;

    /// Where the next round begins: the columns of Q, one behind the other.
    std::span<const float> start_of(const tensor& t) const noexcept;

private:
    /// Before any memory is taken.
    static const power_sgd& checked(const power_sgd& options);

    std::span<float> take_in(const tensor& t, std::span<const float> gradient);

    /// Makes a right factor's columns orthonormal; those that vanish are drawn at random, the same
    /// on every rank.
    void renew(const tensor& t, std::span<float> right);

    /// Whether it does in this round.
    bool goes_as_factors(const tensor& t) const noexcept;

    std::int64_t message_size_max(const tensor& t) const noexcept;

    const tensor& matrix_of(const tensor& t) const noexcept { return plan_.matrices()[t.index]; }
    const tensor& left_of(const tensor& t) const noexcept { return plan_.left()[t.index]; }
    const tensor& right_of(const tensor& t) const noexcept { return plan_.right()[t.index]; }
    static std::size_t slot(const tensor& t) noexcept { return static_cast<std::size_t>(t.index); }

    layout tensors_;
    detail::low_rank_plan plan_;
    std::int64_t start_after_;
    bool is_whole_ = false;  // in this round
    detail::versioned_buffer error_;
    detail::versioned_buffer right_;    // Q
    std::vector<float> left_;           // P of this round
    std::vector<std::uint8_t> packed_;  // in this round, per tensor
    std::vector<float> message_;
    std::vector<double> wide_;
    random_stream random_;
    random_stream round_;
    float weight_ = 1.0f;
};

inline power_sgd::state power_sgd::bind(const layout& tensors) const {
    return {*this, tensors};
}

inline power_sgd::state power_sgd::bind_decoder(const layout& tensors) const {
    return {*this, tensors, false};
}

}  // namespace sotto

#ifndef SOTTO_SEPARATE_COMPILATION
#include "sotto/compressors/power_sgd.ipp"
#endif
