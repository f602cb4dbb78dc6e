#pragma once

#include "sotto/distillation/soft_cross_entropy.hpp"

#include "sotto/core/config.hpp"

namespace sotto {

SOTTO_DECL void soft_cross_entropy::add(std::span<const float> teacher, std::size_t outputs,
                                        double share, std::span<float> targets) const {
    detail::add_softened(name, teacher, outputs, temperature, share, targets);
}

SOTTO_DECL double soft_cross_entropy::value(std::span<const float> logits, std::size_t outputs,
                                            std::span<const float> targets) const {
    return of_all().value(logits, outputs, targets);
}

SOTTO_DECL double soft_cross_entropy::gradient(std::span<const float> logits, std::size_t outputs,
                                               std::span<const float> targets, double weight,
                                               std::span<float> out) const {
    return of_all().gradient(logits, outputs, targets, weight, out);
}

SOTTO_DECL detail::covering soft_cross_entropy::of_all() const {
    return {name, temperature, [](double) { return 0.0; }};
}

}  // namespace sotto
