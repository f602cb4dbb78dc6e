#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "sotto/collectives/all_reduce.hpp"
#include "sotto/core/detail/memory/large_pages.hpp"
#include "sotto/transports/transport.hpp"
#include "sotto/transports/transport_ref.hpp"

namespace sotto::detail {

/// Mean of all ranks' parameters, to evaluate ranks with different parameters.
///   math    sum of w_i x_i over sum of w_i; w_i = 1 if ranks have no weights
///   cost    an all-reduce of the parameters each time; 4 bytes a parameter from the first on
class mean_parameters {
public:
    mean_parameters(transport_ref through, bool weighed) : through_(through), weighed_(weighed) {}

    /// Every rank calls it with the same number; valid until the next call.
    std::span<const float> of(std::span<const float> parameters, double weight,
                              std::uint64_t number);

private:
    transport_ref through_;
    bool weighed_;
    large_vector<float> mean_;
    std::optional<detail::collectives::all_reduce> sum_;
};

}  // namespace sotto::detail

#ifndef SOTTO_SEPARATE_COMPILATION
#include "sotto/trainer/mean_parameters.ipp"
#endif
