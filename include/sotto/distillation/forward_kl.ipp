#pragma once

#include "sotto/distillation/forward_kl.hpp"

#include <cmath>

#include "sotto/core/config.hpp"

namespace sotto {

SOTTO_DECL void forward_kl::add(std::span<const float> teacher, std::size_t outputs, double share,
                                std::span<float> targets) const {
    detail::add_softened(name, teacher, outputs, temperature, share, targets);
}

SOTTO_DECL double forward_kl::value(std::span<const float> logits, std::size_t outputs,
                                    std::span<const float> targets) const {
    return of_all().value(logits, outputs, targets);
}

SOTTO_DECL double forward_kl::gradient(std::span<const float> logits, std::size_t outputs,
                                       std::span<const float> targets, double weight,
                                       std::span<float> out) const {
    return of_all().gradient(logits, outputs, targets, weight, out);
}

SOTTO_DECL detail::covering forward_kl::of_all() const {
    return {name, temperature, [](double q) { return std::log(q); }};
}

}  // namespace sotto
