#pragma once

#include <algorithm>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "sotto/compressors/compressor.hpp"
#include "sotto/compressors/detail/contractive.hpp"
#include "sotto/core/layout.hpp"

namespace sotto::detail {

/// An unbiased compressor that tells how far off its messages may be:
///   variance(tensor) -> double   omega, with E ||C(g) - g||^2 <= omega ||g||^2
template <class C>
concept tells_variance = unbiased<C> && requires(const C& options, const tensor& t) {
    { options.variance(t) } -> std::convertible_to<double>;
};

}  // namespace sotto::detail

namespace sotto {

/// Another compressor's messages, of less than there is: so little less that those of an unbiased
/// one are never further off on average than nothing is, and what is built on that can be built on
/// them, such as mixing::choco and error_feedback.
///   math    q = C(g / (1 + omega)), with omega the variance that C tells of the tensor:
///           E ||q - g||^2 <= (1 - d) ||g||^2 with d = 1 / (1 + omega). Of a C that clips, such as
///           terngrad, d is smaller by what clipping leaves of ||g||^2
///   wire    the inner compressor's
///   cost    a pass more, and 4 bytes a value of the largest tensor
///   errors  the inner compressor's
///   source  Koloskova et al. 2019, arXiv:1902.00340, on rescaled unbiased estimators
template <class Inner>
struct scaled_down {
    static_assert(detail::tells_variance<Inner>,
                  "scaled_down: the compressor inside must be unbiased and tell its variance, as "
                  "qsgd{} and terngrad{} do: others have nothing to be scaled down for");

    static_assert(!detail::remembers<Inner>,
                  "scaled_down: the compressor inside must remember nothing: what is scaled down "
                  "for a memory around it would be remembered twice");

    Inner inner{};  // the compressor of what is left

    class state;
    state bind(const layout& tensors) const { return state(*this, tensors); }
    void describe(auto&& field) const { field("inner", inner); }
};

template <class Inner>
scaled_down(Inner) -> scaled_down<Inner>;

template <class Inner>
class scaled_down<Inner>::state {
public:
    state(const scaled_down& options, const layout& tensors) : inner_(options.inner.bind(tensors)) {
        std::int64_t largest = 0;
        for (const tensor& t : tensors) {
            largest = (std::max)(largest, t.size);
            shares_.push_back(static_cast<float>(1.0 / (1.0 + options.inner.variance(t))));
        }
        less_.resize(static_cast<std::size_t>(largest));
    }

    void begin_round(const round_info& where) { detail::compressing::begin_round(inner_, where); }
    void measured(const tensor& t, double squares) {
        detail::compressing::measured(inner_, t, squares * double{share(t)} * double{share(t)});
    }
    bool waits_for_all() const noexcept { return detail::compressing::waits_for_all(inner_); }

    void encode(const tensor& t, std::span<const float> gradient, bytes& out) {
        const auto less = std::span(less_).first(gradient.size());
        std::ranges::transform(gradient, less.begin(),
                               [s = share(t)](float value) { return s * value; });
        inner_.encode(t, less, out);
    }
    void decode_add(const tensor& t, byte_view message, std::span<float> sum) {
        inner_.decode_add(t, message, sum);
    }
    std::int64_t message_bytes_max(const tensor& t) const {
        return detail::compressing::message_bytes_max(inner_, t);
    }

    void commit() noexcept { detail::compressing::commit(inner_); }
    void rollback() noexcept { detail::compressing::rollback(inner_); }
    void visit(auto&& field) requires detail::compressing::can_be_saved<state_of<Inner>> {
        detail::compressing::visit(inner_, field);
    }

    /// What is sent of it, 1 / (1 + omega).
    float share(const tensor& t) const noexcept {
        return shares_[static_cast<std::size_t>(t.index)];
    }

private:
    state_of<Inner> inner_;
    std::vector<float> shares_;  // of each tensor
    std::vector<float> less_;
};

}  // namespace sotto
