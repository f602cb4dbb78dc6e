#pragma once

#include "sotto/nn/drop_connect.hpp"

#include "sotto/core/config.hpp"
#include "sotto/kernels/detail/nn/elementwise.hpp"

namespace sotto::nn {

SOTTO_DECL std::span<const float> drop_connect::state::activations(
    std::span<const float> in) const noexcept {
    return sum_.activations(in);
}

SOTTO_DECL std::span<const float> drop_connect::state::forward(const pass& at,
                                                               std::span<const float> in) {
    drops_ = at.training && rate_ > 0.0;
    if (drops_) {
        detail::nn::draw_mask(rate_, at.random.split(name_), mask_.take(size()));
        mask(sum_.weight().of(at.parameters), masked_.take(size()));
    }
    return sum_.forward(weights(at.parameters), at.parameters, in);
}

SOTTO_DECL void drop_connect::state::mask(std::span<const float> from, std::span<float> to) const {
    detail::kernels::product(from, mask_.first(size()), to);
}

SOTTO_DECL std::span<const float> drop_connect::state::weights(
    std::span<const float> parameters) const {
    return drops_ ? masked_.first(size()) : sum_.weight().of(parameters);
}

}  // namespace sotto::nn
