#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "sotto/core/errors.hpp"
#include "sotto/core/detail/memory/large_pages.hpp"
#include "sotto/core/require_option.hpp"
#include "sotto/kernels/detail/simd/arithmetic.hpp"
#include "sotto/kernels/detail/update/averaging.hpp"
#include "sotto/strategies/gossip/mixing/adapt_then_combine.hpp"
#include "sotto/strategies/gossip/mixing/mixing_method.hpp"

namespace sotto::mixing {

/// SlowMo around another method: every so many steps all ranks take their mean, and a slow momentum
/// goes on in the direction in which they went since the last time.
///   math    every `every` steps, with x0 the parameters after the last time and x the mean of all:
///           u = momentum * u + (x0 - x) / rate;  x = x0 - factor * rate * u. The mean is of where
///           the step led, also by combine_then_adapt, and is taken once, whatever the controller
///           says of that step
///   cost    8 bytes a parameter, and an all-reduce every so many steps
///   errors  invalid_option: every below 1, momentum not in [0, 1), factor not above 0
///           or not finite
///   source  Wang et al. 2020, SlowMo, arXiv:1910.00643
template <mixing_method Inner = adapt_then_combine>
struct slow_momentum {
    static_assert(
        !detail::mixing::corrects_last_step<Inner>,
        "mixing::slow_momentum: d_squared takes whatever moves the parameters between two "
        "steps for a step of its own, and would repeat the slow momentum's for ever: use "
        "gradient_tracking{}, which brings ranks together as well");
    static_assert(
        !detail::mixing::by_copies<Inner>,
        "mixing::slow_momentum: the copies that choco keeps know nothing of the mean that "
        "all take, and would pull ranks apart again: use another method inside");
    static_assert(!detail::mixing::in_pairs<Inner>,
                  "mixing::slow_momentum: ranks that mix in pairs when they like have no step in "
                  "common in which all could take their mean: use another method inside");
    static_assert(!detail::mixing::has_means<mixing_state<Inner>>,
                  "mixing::slow_momentum: the method inside takes means of its own, in other "
                  "steps: one slow momentum is enough");

    Inner inner{};            // the method between means
    std::int64_t every = 48;  // steps from one mean to the next
    double momentum = 0.7;    // of the slow momentum, u
    double factor = 1.0;      // by what the slow step is multiplied

    static constexpr bool needs_rate = true;
    static constexpr bool combines_first = detail::mixing::combines_first<Inner>;
    static constexpr bool by_shares = detail::mixing::by_shares<Inner>;
    static constexpr bool plain_steps = detail::mixing::plain_steps<Inner>;
    class state;
    state bind(const layout& tensors) const { return {*this, tensors}; }
    void describe(auto&& field) const {
        field("inner", inner);
        field("every", every);
        field("momentum", momentum);
        field("factor", factor);
    }
};

template <mixing_method Inner>
slow_momentum(Inner) -> slow_momentum<Inner>;
template <mixing_method Inner>
slow_momentum(Inner, std::int64_t) -> slow_momentum<Inner>;
template <mixing_method Inner>
slow_momentum(Inner, std::int64_t, double) -> slow_momentum<Inner>;
template <mixing_method Inner>
slow_momentum(Inner, std::int64_t, double, double) -> slow_momentum<Inner>;

template <mixing_method Inner>
class slow_momentum<Inner>::state {
public:
    state(const slow_momentum& options, const layout& tensors)
        : every_(options.every),
          momentum_(options.momentum),
          factor_(options.factor),
          inner_(options.inner.bind(tensors)),
          from_(static_cast<std::size_t>(tensors.size())),
          velocity_(static_cast<std::size_t>(tensors.size())) {
        require_option("mixing::slow_momentum", "every", every_, detail::allowed::at_least(1));
        require_option("mixing::slow_momentum", "momentum", momentum_,
                       detail::allowed::at_least(0.0).below(1.0));
        require_option("mixing::slow_momentum", "factor", factor_, detail::allowed::above(0.0));
    }

    void direct(const tensor& t,
                std::span<float> gradient) requires detail::mixing::directs<mixing_state<Inner>> {
        inner_.direct(t, gradient);
    }
    void correct(const tensor& t, std::span<const float> parameters, std::span<float> next) {
        mixing::correct(inner_, t, parameters, next);
    }
    std::span<float> companion() requires detail::mixing::has_companion<mixing_state<Inner>> {
        return inner_.companion();
    }

    bool wants_mean() const noexcept { return (steps_ + 1) % every_ == 0; }

    void settle(std::span<const float> parameters, std::span<float> next, double rate) {
        mixing::settle(inner_, parameters, next, rate);
        if (steps_ == 0) std::copy(parameters.begin(), parameters.end(), from_.begin());
        if (++steps_ % every_ != 0 || !(rate > 0.0)) return;
        const auto share = static_cast<float>(1.0 / rate);
        detail::kernels::average(static_cast<float>(momentum_), velocity_,
                                 std::array{detail::kernels::weighted_values{share, from_},
                                            detail::kernels::weighted_values{-share, next}});
        detail::kernels::subtract_scaled(from_, static_cast<float>(factor_ * rate), velocity_);
        std::copy(from_.begin(), from_.end(), next.begin());
    }

    void commit() noexcept { mixing::commit(inner_); }
    void rollback() noexcept { mixing::rollback(inner_); }
    void visit(auto&& field) requires detail::mixing::can_be_saved<mixing_state<Inner>> {
        mixing::visit(inner_, field);
        field("slow/from", std::span<float>(from_));
        field("slow/velocity", std::span<float>(velocity_));
        field("slow/steps", steps_);
    }

private:
    std::int64_t every_;
    double momentum_, factor_;
    mixing_state<Inner> inner_;
    detail::large_vector<float> from_, velocity_;
    std::int64_t steps_ = 0;
};

}  // namespace sotto::mixing
