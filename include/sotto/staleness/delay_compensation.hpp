#pragma once

#include <cstdint>
#include <span>

#include "sotto/core/bytes.hpp"
#include "sotto/core/layout.hpp"
#include "sotto/staleness/staleness_compensator.hpp"

namespace sotto::detail {
void check_compensation(const char* policy, const double& lambda, const double& bound);
}  // namespace sotto::detail

namespace sotto {

/// DC-ASGD-c: a late gradient gets the first term of its Taylor series, so that it is about the
/// gradient at the present parameters.
///   math    g + lambda g^2 (w - w_read), all by element. With a bound b > 0 the correction is at
///           most b |g|: where w moves fast it would feed itself
///   shape   lambda is tied to the batch: lambda g^2 is an unbiased diagonal of the Hessian where
///           lambda is the batch's size and the model is right; smaller ones trade bias for
///           variance
///   cost    the server keeps what each worker has read; see parameter_server
///   errors  bind throws invalid_option unless lambda is finite and neither is below 0
///   source  Zheng et al. 2017, Asynchronous Stochastic Gradient Descent with Delay Compensation,
///           arXiv:1609.08326
struct delay_compensation {
    double lambda = 0.04;  // weighs the correction, see shape; 0: plain ASGD
    double bound = 0.0;    // of the correction, as a share of the gradient; 0: none

    static constexpr bool compares = true;

    class state {
    public:
        explicit state(const delay_compensation& options)
            : by_{static_cast<float>(options.lambda), static_cast<float>(options.bound)} {}

        double begin(const late_gradient&) const noexcept { return 1.0; }

        void compensate(const tensor&, std::span<float> gradient, std::span<const float> now,
                        std::span<const float> then) const noexcept;
        void compensate_part(const tensor& t, std::int64_t, std::span<float> gradient,
                             std::span<const float> now,
                             std::span<const float> then) const noexcept;
        void compensate_at(const tensor&, std::span<float> values,
                           std::span<const std::uint32_t> indices, std::span<const float> now,
                           std::span<const float> then) const noexcept;

        void descend_at(const tensor&, float rate, std::span<float> now,
                        std::span<const std::uint32_t> indices, std::span<const float> values,
                        std::span<const float> then) const noexcept;

        /// Both steps of plain SGD in one pass; there where nothing bounds the correction.
        bool descends() const noexcept { return by_.bound == 0.0f; }
        void descend(const tensor&, float rate, std::span<float> next, std::span<const float> now,
                     byte_view gradient, std::span<const float> then) const noexcept;

    private:
        detail::kernels::constant_compensation by_;
    };

    state bind(const layout&, int) const;
    void describe(auto&& field) const {
        field("lambda", lambda);
        field("bound", bound);
    }
};

static_assert(staleness_compensator<delay_compensation>);

}  // namespace sotto

#ifndef SOTTO_SEPARATE_COMPILATION
#include "sotto/staleness/delay_compensation.ipp"
#endif
