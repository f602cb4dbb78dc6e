#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <tuple>
#include <utility>
#include <variant>

#include "sotto/nn/blueprint.hpp"
#include "sotto/nn/layer.hpp"
#include "sotto/nn/pass.hpp"
#include "sotto/nn/shape.hpp"

namespace sotto::detail::nn {

/// The layer state of a chain: the states of its layers in order.
template <class... States>
class chain_state {
public:
    /// Takes the states of layers bound in order.
    explicit chain_state(std::tuple<States...> states) : states_(std::move(states)) {}

    sotto::nn::shape output() const noexcept {
        return std::get<sizeof...(States) - 1>(states_).output();
    }

    std::span<const float> activations(std::span<const float> in) const noexcept {
        return before<sizeof...(States)>(in);
    }

    std::span<const float> forward(const sotto::nn::pass& at, std::span<const float> in) {
        std::apply([&](auto&... each) { ((in = each.forward(at, in)), ...); }, states_);
        return in;
    }

    std::span<const float> backward(std::span<const float> parameters, std::span<const float> in,
                                    std::span<const float> out_gradient, std::span<float> gradient,
                                    auto&& on_ready) {
        return backward_from<sizeof...(States)>(parameters, in, out_gradient, gradient, on_ready);
    }

private:
    // Returns the output of the first `Count` layers for `in`.
    template <std::size_t Count>
    std::span<const float> before(std::span<const float> in) const noexcept {
        if constexpr (Count == 0)
            return in;
        else
            return std::get<Count - 1>(states_).activations(before<Count - 1>(in));
    }

    template <std::size_t Count>
    std::span<const float> backward_from(std::span<const float> parameters,
                                         std::span<const float> in,
                                         std::span<const float> out_gradient,
                                         std::span<float> gradient, auto& on_ready) {
        if constexpr (Count == 0) {
            return out_gradient;
        } else {
            const auto in_gradient = std::get<Count - 1>(states_).backward(
                parameters, before<Count - 1>(in), out_gradient, gradient, on_ready);
            return backward_from<Count - 1>(parameters, in, in_gradient, gradient, on_ready);
        }
    }

    std::tuple<States...> states_;
};

}  // namespace sotto::detail::nn

namespace sotto::nn {

/// Layers in sequence: `chain{conv2d{.channels = 8}, relu{}, dense{.outputs = 10}}`. A chain is
/// also a layer.
///   errors  bind throws the errors of the layers
template <class... Layers>
struct chain {
    static_assert(sizeof...(Layers) > 0, "chain needs at least one layer");
    static_assert((layer<Layers> && ...),
                  "chain needs layers: bind(shape, blueprint&) -> state with output, forward, "
                  "activations, backward");

    std::tuple<Layers...> layers;  // in order

    /// Takes the layers in order.
    explicit chain(Layers... each) : layers(std::move(each)...) {}

    using state = detail::nn::chain_state<typename Layers::state...>;

    state bind(shape input, blueprint& plan) const {
        const auto next = [&](const auto& options) {
            auto bound = options.bind(input, plan);
            input = bound.output();
            return bound;
        };
        // Braces bind the layers in order.
        return std::apply(
            [&](const auto&... each) {
                return state{std::tuple<typename Layers::state...>{next(each)...}};
            },
            layers);
    }

    /// Describes layers by their position, starting at 1.
    void describe(auto&& field) const {
        int place = 0;
        std::apply([&](const auto&... each) { (field(std::to_string(++place), each), ...); },
                   layers);
    }
};

}  // namespace sotto::nn
