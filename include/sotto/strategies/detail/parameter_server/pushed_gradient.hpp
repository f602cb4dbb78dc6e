#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "sotto/compressors/compressor.hpp"
#include "sotto/core/bytes.hpp"
#include "sotto/core/errors.hpp"
#include "sotto/core/detail/memory/large_pages.hpp"
#include "sotto/core/layout.hpp"
#include "sotto/kernels/detail/simd/reductions.hpp"
#include "sotto/wire/detail/protocols/push.hpp"

namespace sotto::detail {

/// The gradient that a server makes of one worker's messages, or of several workers' one after
/// another: their sum.
///   cost    4 bytes a parameter of the layout, the server's own, and what decoding takes
///   errors  non_finite, with the rank whose gradient it is; an error of the same code, without
///           one, where only the sum is no number
template <class Compressor>
class pushed_gradient {
public:
    /// `first_rank`: of worker 0; the others follow.
    pushed_gradient(const Compressor& options, const layout& tensors, int first_rank)
        : tensors_(tensors),
          first_rank_(first_rank),
          compressor_(compressing::bind_decoder(options, tensors_)),
          values_(static_cast<std::size_t>(tensors.size())) {}

    /// The state that decodes.
    state_of<Compressor>& compressor() noexcept { return compressor_; }
    /// The state that decodes.
    const state_of<Compressor>& compressor() const noexcept { return compressor_; }
    /// The rank of a worker.
    int rank_of(int worker) const noexcept { return first_rank_ + worker; }

    /// The gradient, of the whole layout.
    std::span<const float> all() const noexcept { return values_; }
    /// Of one tensor.
    std::span<float> of(const tensor& t) noexcept { return t.of(std::span<float>(values_)); }

    /// Messages of this push are to come.
    void begin(int worker, const wire::push_header& head) {
        compressing::begin_round(
            compressor_,
            {.step = static_cast<std::int64_t>(head.round), .epoch = head.epoch, .rank = worker});
    }

    /// Adds a push to those before, or begins with it.
    void add(int worker, const wire::push_header& head, std::span<const byte_view> messages,
             bool is_first) {
        begin(worker, head);
        std::size_t i = 0;
        for (const tensor& t : tensors_) add(worker, t, messages[i++], is_first);
    }
    /// Adds a worker's message; the first one overwrites. Throws non_finite; malformed_message.
    void add(int worker, const tensor& t, byte_view message, bool is_first) {
        const auto sum = of(t);
        if (is_first) std::fill(sum.begin(), sum.end(), 0.0f);
        try {
            compressor_.decode_add(t, message, sum);
        } catch (const malformed& e) {
            throw malformed_message(rank_of(worker), e);
        }
        if (const auto at = kernels::first_non_finite(sum); at >= 0)
            refuse(worker, t, message, at, is_first);
    }

private:
    [[noreturn]] void refuse(int worker, const tensor& t, byte_view message, std::int64_t at,
                             bool is_first) {
        if (!is_first) {  // is it this gradient, or what all of them come to?
            const auto alone = of(t);
            std::fill(alone.begin(), alone.end(), 0.0f);
            compressor_.decode_add(t, message, alone);
            const auto own = kernels::first_non_finite(alone);
            if (own < 0)
                throw error(errc::non_finite,
                            "the sum of the workers' gradients is not finite: tensor '" + t.name +
                                "', element " + std::to_string(at));
            at = own;
        }
        throw non_finite(rank_of(worker), t.name, at);
    }

    layout tensors_;
    int first_rank_;
    state_of<Compressor> compressor_;
    large_vector<float> values_;
};

}  // namespace sotto::detail
