#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "sotto/collectives/all_reduce.hpp"
#include "sotto/collectives/operation.hpp"
#include "sotto/core/large_pages.hpp"
#include "sotto/kernels/arithmetic.hpp"
#include "sotto/transports/transport.hpp"

namespace sotto::detail {

/// The mean of all ranks' parameters, for evaluations by ranks whose own differ.
///   cost    an all-reduce of the parameters each time; 4 bytes a parameter from the first on
template <class Transport>
class mean_parameters {
public:
    explicit mean_parameters(Transport& through) : through_(through) {}

    /// Every rank calls it with the same number; valid until the next call.
    std::span<const float> of(std::span<const float> parameters, std::uint64_t number) {
        if (through_.size() == 1) return parameters;
        if (!sum_) {
            mean_.resize(parameters.size());
            sum_.emplace(through_, std::ssize(parameters));
        }
        std::ranges::copy(parameters, mean_.begin());
        sum_->start(std::span<float>(mean_), {channels::evaluation, 3, number});
        collectives::run(through_, *sum_);
        kernels::scale(mean_, 1.0f / static_cast<float>(through_.size()));
        return mean_;
    }

private:
    Transport& through_;
    large_vector<float> mean_;
    std::optional<collectives::all_reduce<Transport>> sum_;
};

}  // namespace sotto::detail
