#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "sotto/collectives/all_reduce.hpp"
#include "sotto/collectives/detail/operation.hpp"
#include "sotto/core/errors.hpp"
#include "sotto/models/gradient_source.hpp"
#include "sotto/transports/transport.hpp"
#include "sotto/transports/transport_ref.hpp"

namespace sotto::detail {

/// Handles a model's buffers, its state besides parameters. A failed round leaves them unchanged,
/// and an evaluation uses their mean over all ranks. Models without buffers cost nothing.
template <class Model>
class model_buffers {
public:
    model_buffers(Model& model, transport_ref through) : model_(model), through_(through) {
        if constexpr (with_buffers<Model>) {
            model.reset_buffers();
            kept_.resize(model.buffers().size());
            if (!kept_.empty()) sum_.emplace(through, static_cast<std::int64_t>(kept_.size()));
        }
    }

    /// Returns this rank's buffers.
    std::span<float> own() noexcept {
        if constexpr (with_buffers<Model>) return model_.buffers();
        return {};
    }

    /// Runs a round. If it throws, restores the buffers.
    auto guard(auto&& round) {
        if constexpr (with_buffers<Model>) {
            keep();
            try {
                return round();
            } catch (...) {
                put_back();
                throw;
            }
        } else {
            return round();
        }
    }

    /// Calls `measure` with the mean of all ranks' buffers in the model, and then restores this
    /// rank's. Every rank calls it with the same number.
    auto with_mean(std::uint64_t number, auto&& measure) {
        if constexpr (with_buffers<Model>) {
            if (!sum_ || through_.size() == 1) return measure();
            keep();
            const restore afterwards{*this};
            sum_->start(model_.buffers(), {channels::evaluation, 2, number});
            collectives::run(through_, *sum_);
            const float share = 1.0f / static_cast<float>(through_.size());
            for (float& value : model_.buffers()) value *= share;
            return measure();
        } else {
            return measure();
        }
    }

    /// For an evaluation by this rank alone, with its own buffers.
    ///   errors  invalid_option: it has none, because it does not train
    void require_of_training(bool trains) const {
        if constexpr (with_buffers<Model>)
            if (!trains && !model_.buffers().empty())
                throw invalid_option(
                    "evaluate: this rank only serves, so that its model has no running statistics: "
                    "evaluate on a rank that trains");
    }

private:
    struct restore {
        model_buffers& of;
        ~restore() { of.put_back(); }
    };

    void keep() noexcept { std::ranges::copy(model_.buffers(), kept_.begin()); }
    void put_back() noexcept { std::ranges::copy(kept_, model_.buffers().begin()); }

    Model& model_;
    transport_ref through_;
    std::vector<float> kept_;
    std::optional<collectives::all_reduce> sum_;  // if there are buffers
};

}  // namespace sotto::detail
