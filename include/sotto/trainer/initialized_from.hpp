#pragma once

#include <algorithm>
#include <span>
#include <type_traits>
#include <utility>

#include "sotto/checkpoint/detail/published_model.hpp"
#include "sotto/checkpoint/saved_model.hpp"
#include "sotto/core/random.hpp"
#include "sotto/models/gradient_source.hpp"
#include "sotto/strategies/detail/codistillation/architecture_of.hpp"

namespace sotto {

/// A model that starts from learnt parameters:
/// `initialized_from model{models::mlp{784, 10}, load_model("model.safetensors")}`. Otherwise it
/// behaves as that model, with any strategy. Every rank reads the file; the trainer throws mismatch
/// if ranks read different files.
///   errors  mismatch: the parameters are of another model; malformed: they are not finite; both as
///           in saved_model::fitted_to
template <class Model>
class initialized_from : public Model {
    static_assert(
        gradient_source<Model> && std::is_move_constructible_v<Model>,
        "initialized_from: the model must be a gradient_source that can be copied or moved; a "
        "torch_model has load_parameters");

public:
    /// Copies the model.
    initialized_from(Model model, saved_model learnt)
        : Model(std::move(model)), learnt_(fitted(std::move(learnt), *this)) {
        if constexpr (detail::with_buffers<Model>) reset_buffers();
    }

    /// Starts from the learnt parameters, without random values.
    void initialise(std::span<float> parameters, random_stream) const {
        std::ranges::copy(learnt_.parameters, parameters.begin());
    }
    /// Restores the learnt buffers.
    void reset_buffers() requires detail::with_buffers<Model> {
        std::ranges::copy(learnt_.buffers, this->buffers().begin());
    }

    void describe(auto&& field) const {
        field("model", original());
        field("begins_with", learnt_.identity());
    }

    /// Returns the model itself.
    const Model& original() const noexcept { return *this; }

private:
    static saved_model fitted(saved_model learnt, const Model& model) {
        if constexpr (detail::with_buffers<Model>)
            return std::move(learnt).fitted_to(model.layout(), model.buffer_layout());
        else
            return std::move(learnt).fitted_to(model.layout());
    }

    saved_model learnt_;
};

/// Returns the architecture of the model itself: the start does not change its function.
template <class Model>
detail::checkpoint::architecture architecture_of(const initialized_from<Model>& model) {
    using detail::architecture_of;
    return architecture_of(model.original());
}

}  // namespace sotto
