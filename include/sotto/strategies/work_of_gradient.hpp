#pragma once

#include <concepts>

#include "sotto/strategies/task.hpp"
#include "sotto/transports/transport.hpp"

namespace sotto {

/// What computing a task's gradient is, for transports on which time passes by what is done.
///   math    what the model says, by work_of(batch); else 6 multiplications and additions for each
///           weight and example, as of dense layers: 2 forward and 4 back
template <class Model>
work work_of_gradient(const task<Model>& job) {
    if constexpr (requires { { job.model.work_of(job.batch) } -> std::convertible_to<work>; })
        return job.model.work_of(job.batch);
    else
        return {.flops = 6.0 * static_cast<double>(job.model.layout().size()) *
                         static_cast<double>(job.examples)};
}

}  // namespace sotto
