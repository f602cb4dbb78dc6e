#pragma once

#include <cmath>
#include <cstddef>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "sotto/core/layout.hpp"
#include "sotto/core/require_option.hpp"
#include "sotto/kernels/detail/simd/arithmetic.hpp"
#include "sotto/kernels/detail/simd/reductions.hpp"
#include "sotto/optimizers/optimizer.hpp"

namespace sotto {

/// An optimizer that sees gradients of at most a given length:
/// `clipped{momentum_sgd{...}, 1.0}`.
///   math    g *= min(1, norm / ||g||), over the whole gradient
///   cost    4 bytes a weight
///   source  Pascanu, Mikolov, Bengio 2013, On the difficulty of training recurrent neural
///           networks, arXiv:1211.5063
template <class Optimizer>
struct clipped {
    static_assert(
        optimizer<Optimizer>,
        "clipped: the first policy must be an optimizer: it needs bind(layout) with "
        "begin_step(step_info, gradient) and update(tensor, parameters, gradient) noexcept");

    Optimizer inner{};  // the optimizer that sees what is clipped
    double norm = 1.0;  // the length that a gradient has at most

    class state;
    state bind(const layout& tensors) const { return {*this, tensors}; }
    void describe(auto&& field) const {
        field("inner", inner);
        field("limit", std::string_view("by_norm"));  // as old checkpoints have it
        field("limit.norm", norm);
    }
};

template <class Optimizer>
clipped(Optimizer, double) -> clipped<Optimizer>;

template <class Optimizer>
class clipped<Optimizer>::state {
    using bound = decltype(std::declval<const Optimizer&>().bind(std::declval<const layout&>()));

public:
    state(const clipped& options, const layout& tensors)
        : norm_(options.norm),
          bound_(options.inner.bind(tensors)),
          scaled_(static_cast<std::size_t>(tensors.size())) {
        require_option("clipped", "norm", norm_, detail::allowed::above(0.0));
    }

    double rate_at(
        const round_info& where) const noexcept requires detail::optimizing::tells_rate<Optimizer> {
        return detail::optimizing::rate_at(bound_, where);
    }

    void begin_step(const step_info& step, std::span<const float> gradient) {
        const double length = std::sqrt(detail::kernels::sum_of_squares(gradient));
        const float factor = length > norm_ ? static_cast<float>(norm_ / length) : 1.0f;
        for (std::size_t i = 0; i < scaled_.size(); ++i) scaled_[i] = factor * gradient[i];
        bound_.begin_step(step, scaled_);
    }

    void update(const tensor& t, std::span<float> parameters, std::span<const float>) noexcept {
        bound_.update(t, parameters, t.of(std::span<const float>(scaled_)));
    }

    void commit() noexcept { detail::optimizing::commit(bound_); }
    void visit(auto&& field) requires detail::optimizing::can_be_saved<Optimizer> {
        detail::optimizing::visit(bound_, field);
    }

private:
    double norm_;
    bound bound_;
    std::vector<float> scaled_;
};

}  // namespace sotto
