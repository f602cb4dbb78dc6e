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

/// DC-ASGD-c: adds the first term of a Taylor series to a late gradient. The result approximates
/// the gradient at the current parameters.
///   math    g + lambda g^2 (w - w_read), by element. With a bound b > 0 the correction is at most
///           b |g|: without it, a correction feeds itself where w moves fast
///   shape   lambda is tied to the batch size. If lambda is the batch size and the model is right,
///           lambda g^2 is an unbiased diagonal of the Hessian. A smaller lambda trades bias for
///           variance
///   cost    the server stores the parameters that each worker has read; see parameter_server
///   errors  bind throws invalid_option unless lambda is finite and lambda and bound are at least 0
///   source  Zheng et al. 2017, Asynchronous Stochastic Gradient Descent with Delay Compensation,
///           arXiv:1609.08326
struct delay_compensation {
    double lambda = 0.04;  // weight of the correction, see shape; 0: plain ASGD
    double bound = 0.0;    // limit of the correction, as a share of the gradient; 0: none

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

        /// Compensation and a step of plain SGD in one pass; available if the correction has no
        /// bound.
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
