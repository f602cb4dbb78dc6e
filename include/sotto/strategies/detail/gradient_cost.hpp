#pragma once

#include <concepts>

#include "sotto/core/layout.hpp"
#include "sotto/strategies/detail/round_input.hpp"
#include "sotto/transports/transport.hpp"
#include "sotto/transports/transport_ref.hpp"

namespace sotto::detail {

/// What computing a task's gradient is, for transports on which time passes by what is done.
///   math    what the model says, by work_of(batch); else 6 multiplications and additions for each
///           weight and example, as of dense layers: 2 forward and 4 back
template <class Model>
work gradient_cost(const round_input<Model>& job) {
    if constexpr (requires {
                      { job.model.work_of(job.batch) } -> std::convertible_to<work>;
                  })
        return job.model.work_of(job.batch);
    else
        return {.flops = 6.0 * static_cast<double>(job.model.layout().size()) *
                         static_cast<double>(job.examples)};
}

/// Lets the time of a gradient pass while it is computed: a third of it before the first tensor,
/// the rest as tensors are ready, by their size.
class gradient_work {
public:
    /// Of one gradient; borrows the transport.
    template <class Model>
    gradient_work(transport_ref through, const round_input<Model>& job)
        : through_(through),
          whole_(gradient_cost(job)),
          size_(static_cast<double>(job.model.layout().size())) {
        pass(1.0 / 3.0);
    }

    /// The tensor's gradient is there.
    void is_ready(const tensor& t);

    /// All is computed, whether or not it was announced.
    void end() { pass(1.0 - passed_); }

private:
    void pass(double share);

    transport_ref through_;
    work whole_;
    double size_;
    double passed_ = 0.0;
};

}  // namespace sotto::detail

#ifndef SOTTO_SEPARATE_COMPILATION
#include "sotto/strategies/detail/gradient_cost.ipp"
#endif
