#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "sotto/compressors/compressor.hpp"
#include "sotto/compressors/detail/contractive.hpp"
#include "sotto/compressors/detail/versioned_buffer.hpp"
#include "sotto/core/errors.hpp"
#include "sotto/core/require_option.hpp"
#include "sotto/kernels/detail/simd/arithmetic.hpp"
#include "sotto/kernels/detail/update/exponential_mean.hpp"
#include "sotto/kernels/detail/update/momentum.hpp"

namespace sotto {

/// Every rank's estimate of its gradient follows the gradient by compressed differences, and the
/// sum of the estimates, which every rank keeps, is what the optimizer sees: so nothing that was
/// left out is applied later at another place, and ranks may have data of different kinds.
///   math    v_i = m v_i + (1 - m) g_i;  send c_i = C(v_i - h_i);  h_i += c_i;  h += sum of c_i;
///           the optimizer sees h, which is the sum of h_i. Gradients come in weighted by the
///           ranks' shares, and so h_i is of the weighted one: a share that changes is one more
///           difference. So is one that falls to 0: a rank without data gives zeros. All begin at
///           0. momentum m = 0 is EF21, m > 0 is EF21-SGDM, for stochastic gradients
///   wire    the inner compressor's, of differences
///   cost    16 bytes a weight, with momentum 24, 4 bytes a value of the largest tensor, and of its
///           own message another decoding. h and the sum of h_i are rounded apart: after T rounds
///           they differ by about sqrt(T) roundings
///   errors  bind throws invalid_option unless 0 <= momentum < 1; the inner compressor's
///   source  Richtarik, Sokolov, Fatkhullin 2021, EF21, arXiv:2106.05203; Fatkhullin, Tyurin,
///           Richtarik 2023, Momentum provably improves error feedback, arXiv:2305.15155
template <class Inner>
struct ef21 {
    static_assert(detail::contractive<Inner>,
                  "ef21: the inner compressor must be contractive and remember nothing: estimates "
                  "would not follow the gradient by differences that an unbiased one, such as "
                  "qsgd or terngrad, magnifies, or that another memory holds back");

    Inner inner{};          // whose messages are of differences
    double momentum = 0.0;  // m, in [0, 1)

    static constexpr bool remembers = true;
    class state;
    state bind(const layout& tensors) const { return state(*this, tensors); }
    void describe(auto&& field) const {
        field("inner", inner);
        field("momentum", momentum);
    }
};

template <class Inner>
ef21(Inner) -> ef21<Inner>;
template <class Inner>
ef21(Inner, double) -> ef21<Inner>;

template <class Inner>
class ef21<Inner>::state {
public:
    state(const ef21& options, const layout& tensors)
        : momentum_(checked(options.momentum)),
          tensors_(tensors),
          inner_(options.inner.bind(tensors_)),
          own_(tensors),
          all_(tensors) {
        if (averages()) average_ = detail::versioned_buffer(tensors);
        std::int64_t largest = 0;
        for (const tensor& t : tensors) largest = (std::max)(largest, t.size);
        difference_.resize(static_cast<std::size_t>(largest));
    }

    void begin_round(const round_info& where) { detail::compressing::begin_round(inner_, where); }

    void encode(const tensor& t, std::span<const float> gradient, bytes& out) {
        const auto target = averages() ? averaged(t, gradient) : gradient;
        const std::span<const float> before = std::as_const(own_).committed(t);
        const auto difference = std::span(difference_).first(target.size());
        std::copy(target.begin(), target.end(), difference.begin());
        detail::kernels::subtract_scaled(difference, 1.0f, before);
        const std::size_t start = out.size();
        inner_.encode(t, difference, out);
        const auto own = own_.next(t);
        std::copy(before.begin(), before.end(), own.begin());
        inner_.decode_add(t, byte_view(out).subspan(start), own);
    }

    void decode_add(const tensor& t, byte_view message, std::span<float> sum) {
        inner_.decode_add(t, message, sum);
    }

    /// From the sum of differences to the sum of estimates.
    void after_sum(const tensor& t, std::span<float> sum) {
        const auto all = all_.next(t);
        detail::kernels::accumulate(sum, 1.0f, all_.committed(t), all);
        std::copy(all.begin(), all.end(), sum.begin());
    }

    std::int64_t message_bytes_max(const tensor& t) const {
        return detail::compressing::message_bytes_max(inner_, t);
    }

    void commit() noexcept {
        each_buffer([](detail::versioned_buffer& b) { b.commit(); });
        detail::compressing::commit(inner_);
    }
    void rollback() noexcept {
        each_buffer([](detail::versioned_buffer& b) { b.rollback(); });
        detail::compressing::rollback(inner_);
    }

    void visit(auto&& field) requires detail::compressing::can_be_saved<state_of<Inner>> {
        detail::compressing::visit(inner_, field);
        for (const tensor& t : tensors_) {
            field("estimate/" + t.name, all_.committed(t), kept::alike);
            field("own_estimate/" + t.name, own_.committed(t), kept::apart);
            if (averages()) field("average/" + t.name, average_.committed(t), kept::apart);
        }
    }

    /// What all ranks take this rank's weighted gradient for, and the sum of those.
    std::span<const float> own_estimate(const tensor& t) const noexcept {
        return own_.committed(t);
    }
    /// `h` of a tensor: what the optimizer saw after the last round.
    std::span<const float> estimate(const tensor& t) const noexcept { return all_.committed(t); }

private:
    static double checked(const double& momentum) {
        require_option("ef21", "momentum", momentum, detail::allowed::at_least(0.0).below(1.0));
        return momentum;
    }

    bool averages() const noexcept { return momentum_ > 0.0; }

    std::span<const float> averaged(const tensor& t, std::span<const float> gradient) {
        const auto average = average_.next(t);
        detail::kernels::move_mean(momentum_, gradient, std::as_const(average_).committed(t),
                                   average);
        return average;
    }

    void each_buffer(auto&& act) noexcept {
        act(own_);
        act(all_);
        if (averages()) act(average_);
    }

    double momentum_;
    layout tensors_;
    state_of<Inner> inner_;
    detail::versioned_buffer own_;      // h_i
    detail::versioned_buffer all_;      // h
    detail::versioned_buffer average_;  // v_i
    std::vector<float> difference_;
};

}  // namespace sotto
