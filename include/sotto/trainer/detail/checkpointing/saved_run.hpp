#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <utility>

#include "sotto/checkpoint/detail/field_visitor.hpp"
#include "sotto/core/layout.hpp"
#include "sotto/models/gradient_source.hpp"
#include "sotto/strategies/strategy.hpp"
#include "sotto/trainer/detail/fit_progress.hpp"

namespace sotto::detail {

/// The state that a checkpoint saves, with types erased.
class saved_run {
public:
    /// Shows all fields of this rank, in place.
    virtual void show(saved_fields& to) = 0;
    /// Returns the rank that sends the state of `rank`.
    virtual int sender_for(int rank) const = 0;
    /// Returns the minimum and maximum of `own` over the ranks of all models.
    virtual std::pair<std::int64_t, std::int64_t> range_of_models(std::int64_t own) = 0;
    /// Returns the name of this rank's model, if there are several.
    virtual std::string model_name() const = 0;

protected:
    ~saved_run() = default;
};

/// `alike`: true if all ranks hold the same parameters.
void show_parameters(saved_fields& to, const layout& tensors, std::span<float> values, bool alike);

void show_buffers(saved_fields& to, const layout& tensors, std::span<float> values);

/// Called after the fields of the state.
void show_learnt(const field_visitor& show, learnt_so_far& learnt);

/// The saved state of a model and a strategy. `Alike`: true if all ranks hold the same parameters.
template <class Model, class State, bool Alike>
class saved_run_of final : public saved_run {
public:
    saved_run_of(Model& model, State& state, std::span<float> parameters, learnt_so_far& learnt)
        : model_(model), state_(state), parameters_(parameters), learnt_(learnt) {}

    void show(saved_fields& to) override {
        show_parameters(to, model_.layout(), parameters_, Alike);
        if constexpr (with_buffers<Model>)
            show_buffers(to, model_.buffer_layout(), model_.buffers());
        if constexpr (shows_its_state<State>) {
            const field_visitor each(to);
            state_.visit(each);
            show_learnt(each, learnt_);
        }
    }
    int sender_for(int rank) const override { return conducting::sender_for(state_, rank); }
    std::pair<std::int64_t, std::int64_t> range_of_models(std::int64_t own) override {
        return conducting::range_of_models(state_, own);
    }
    std::string model_name() const override { return conducting::model_name(state_); }

private:
    Model& model_;
    State& state_;
    std::span<float> parameters_;
    learnt_so_far& learnt_;
};

}  // namespace sotto::detail

#ifndef SOTTO_SEPARATE_COMPILATION
#include "sotto/trainer/detail/checkpointing/saved_run.ipp"
#endif
