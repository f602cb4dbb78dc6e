#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "sotto/compressors/compressor.hpp"
#include "sotto/compressors/detail/contractive.hpp"
#include "sotto/compressors/detail/versioned_buffer.hpp"
#include "sotto/core/errors.hpp"
#include "sotto/core/require_option.hpp"
#include "sotto/kernels/detail/simd/arithmetic.hpp"
#include "sotto/kernels/detail/update/momentum.hpp"

namespace sotto {

/// Adds to every gradient what a compressor left out of those before.
///   math    p = g + b e;  send C(p);  e = p - C(p), with b the decay. With b = 1 sent + remembered
///           = given with every round, but for rounding where C(p) and p differ in magnitude; with
///           less, what has waited long counts less. The memory is of gradients: where
///           the learning rate falls, what waited is applied at the lower one. Plain sgd learns by
///           scaled signs at the rate it has for whole gradients; momentum after the exchange adds
///           each message up 1 / (1 - m) times, and needs a lower one
///   wire    the inner compressor's
///   cost    besides the inner compressor's: 8 bytes a weight, and of its own message another
///           decoding and, unless it has decode_subtract, 4 bytes a value of the largest tensor.
///           `sparsified{..., residual{}}` does the same for chosen entries in fewer passes
///   errors  the inner compressor's; bind throws invalid_option unless 0 <= decay <= 1
///   source  Seide et al. 2014, 1-bit stochastic gradient descent (Interspeech); Karimireddy et
///           al. 2019, arXiv:1901.09847
template <class Inner>
struct error_feedback {
    static_assert(detail::contractive<Inner>,
                  "error_feedback: the inner compressor must be contractive and remember nothing: "
                  "the errors of an unbiased one, such as qsgd or terngrad, can grow without "
                  "bound, unless it is scaled_down{...}, and two memories would hold the same "
                  "gradient twice");

    Inner inner{};       // the compressor that leaves something out
    double decay = 1.0;  // of what waits, a round

    static constexpr bool remembers = true;
    class state;
    state bind(const layout& tensors) const { return state(*this, tensors); }
    state bind_decoder(const layout& tensors) const { return state(*this, tensors, false); }
    void describe(auto&& field) const {
        field("inner", inner);
        field("decay", decay);
    }
};

template <class Inner>
error_feedback(Inner) -> error_feedback<Inner>;
template <class Inner>
error_feedback(Inner, double) -> error_feedback<Inner>;

template <class Inner>
class error_feedback<Inner>::state {
    using inner_state = state_of<Inner>;
    static constexpr bool subtracts =
        requires(inner_state & bound, const tensor& t, byte_view message, std::span<float> values) {
        bound.decode_subtract(t, message, values);
    };

public:
    state(const error_feedback& options, const layout& tensors, bool encodes = true)
        : tensors_(tensors),
          decay_(checked(options.decay)),
          inner_(encodes ? options.inner.bind(tensors_)
                         : detail::compressing::bind_decoder(options.inner, tensors_)),
          error_(encodes ? tensors : detail::compressing::no_tensors()) {
        if (!encodes) return;
        if constexpr (!subtracts) {
            std::int64_t largest = 0;
            for (const tensor& t : tensors) largest = (std::max)(largest, t.size);
            sent_.resize(static_cast<std::size_t>(largest));
        }
    }

    void begin_round(const round_info& where) { detail::compressing::begin_round(inner_, where); }

    void encode(const tensor& t, std::span<const float> gradient, bytes& out) {
        const auto waiting = error_.next(t);
        detail::kernels::accumulate(error_.committed(t), decay_, gradient, waiting);
        const std::size_t start = out.size();
        inner_.encode(t, waiting, out);
        take(t, byte_view(out).subspan(start), waiting);
    }

    void decode_add(const tensor& t, byte_view message, std::span<float> sum) {
        inner_.decode_add(t, message, sum);
    }

    std::int64_t message_bytes_max(const tensor& t) const {
        return detail::compressing::message_bytes_max(inner_, t);
    }

    std::int64_t decoding_bytes() const {
        return detail::compressing::decoding_bytes(inner_, tensors_);
    }

    void commit() noexcept {
        error_.commit();
        detail::compressing::commit(inner_);
    }
    void rollback() noexcept {
        error_.rollback();
        detail::compressing::rollback(inner_);
    }

    void visit(auto&& field) requires detail::compressing::can_be_saved<inner_state> {
        detail::compressing::visit(inner_, field);
        for (const tensor& t : tensors_)
            field("residual/" + t.name, error_.committed(t), kept::apart);
    }

    /// What this rank has not sent yet of a tensor.
    std::span<const float> unsent(const tensor& t) const noexcept { return error_.committed(t); }

private:
    static float checked(const double& decay) {
        require_option("error_feedback", "decay", decay,
                       detail::allowed::at_least(0.0).at_most(1.0));
        return static_cast<float>(decay);
    }

    void take(const tensor& t, byte_view message, std::span<float> waiting) {
        if constexpr (subtracts) {
            inner_.decode_subtract(t, message, waiting);
        } else {
            const auto sent = std::span(sent_).first(waiting.size());
            std::fill(sent.begin(), sent.end(), 0.0f);
            inner_.decode_add(t, message, sent);
            detail::kernels::subtract_scaled(waiting, 1.0f, sent);
        }
    }

    layout tensors_;
    float decay_;
    inner_state inner_;
    detail::versioned_buffer error_;
    std::vector<float> sent_;
};

}  // namespace sotto
