#pragma once

#include "sotto/trainer/mean_parameters.hpp"

#include <algorithm>

#include "sotto/collectives/detail/operation.hpp"
#include "sotto/core/config.hpp"
#include "sotto/kernels/detail/simd/arithmetic.hpp"

namespace sotto::detail {

SOTTO_DECL std::span<const float> mean_parameters::of(std::span<const float> parameters,
                                                      double weight, std::uint64_t number) {
    if (through_.size() == 1) return parameters;
    if (!sum_) {
        mean_.resize(parameters.size() + (weighed_ ? 1 : 0));
        sum_.emplace(through_, std::ssize(mean_));
    }
    std::ranges::copy(parameters, mean_.begin());
    const auto all = std::span(mean_).first(parameters.size());
    if (weighed_) {
        kernels::scale(all, static_cast<float>(weight));
        mean_.back() = static_cast<float>(weight);
    }
    sum_->start(std::span<float>(mean_), {channels::evaluation, 3, number});
    collectives::run(through_, *sum_);
    kernels::scale(all, 1.0f / (weighed_ ? mean_.back() : static_cast<float>(through_.size())));
    return all;
}

}  // namespace sotto::detail
