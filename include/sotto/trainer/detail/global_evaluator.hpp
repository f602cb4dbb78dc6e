#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "sotto/collectives/detail/all_gather_values.hpp"
#include "sotto/strategies/strategy.hpp"
#include "sotto/trainer/detail/evaluator.hpp"
#include "sotto/trainer/detail/fit_progress.hpp"
#include "sotto/trainer/detail/model_buffers.hpp"
#include "sotto/trainer/mean_parameters.hpp"
#include "sotto/trainer/reports.hpp"
#include "sotto/transports/transport.hpp"
#include "sotto/transports/transport_ref.hpp"

namespace sotto::detail {

/// The common model of all ranks, its evaluation, and its mean training loss. Ranks that learn in
/// step do all of it together; with another strategy each rank works alone.
///   math    if ranks' parameters differ, their mean: sum of w_i x_i over sum of w_i, with the
///           weights of the strategy. For models' buffers the plain mean
template <class Model, class Strategy, class State>
class global_evaluator {
    using buffers_type = model_buffers<Model>;

    static constexpr bool in_step = conducting::in_step<Strategy>;

public:
    /// Copies only the batch size; the rest must outlive it.
    global_evaluator(Model& model, State& state, std::span<const float> parameters,
                     buffers_type& buffers, std::int64_t batch_size, transport_ref through)
        : model_(model),
          state_(state),
          parameters_(parameters),
          buffers_(buffers),
          transport_(through),
          evaluator_(batch_size, through),
          mean_(through, conducting::weighs_itself<State>),
          learnt_of_ranks_(static_cast<std::size_t>(through.size())) {}

    /// Calls use(parameters) for the common model; this rank's model then has the common buffers.
    /// If ranks do not learn in step, for this rank's own model.
    auto as_one(auto&& use) {
        if constexpr (in_step) {
            const std::uint64_t number = evaluations_++;
            return buffers_.with_mean(number, [&] { return use(mean(number)); });
        } else {
            buffers_.require_of_training(!state_.share().empty());
            return use(parameters_);
        }
    }

    /// Evaluates the common model.
    template <class Data>
    evaluation evaluate(const Data& data) {
        if constexpr (in_step)
            return evaluate_mean(data);
        else
            return evaluate_local(data);
    }

    /// Evaluates the mean, even if ranks do not learn in step: all of them must call it.
    template <class Data>
    evaluation evaluate_mean(const Data& data) {
        const std::uint64_t number = evaluations_++;
        return buffers_.with_mean(
            number, [&] { return evaluator_.shared(model_, mean(number), data, transport_); });
    }

    /// Returns the mean of all ranks' parameters; valid until the next call.
    std::span<const float> mean() { return mean(evaluations_++); }

    /// Evaluates each rank's own model, if ranks learn in step.
    template <class Data>
    own_evaluations evaluate_each(const Data& data) {
        return evaluator_.own(model_, parameters_, data, transport_);
    }

    /// Evaluates this rank's own model. Other ranks are not involved.
    template <class Data>
    evaluation evaluate_local(const Data& data) {
        buffers_.require_of_training(!state_.share().empty());
        return evaluator_.alone(model_, parameters_, data);
    }

    /// Returns the training loss of all ranks in an epoch, up to this step.
    learnt_so_far in_epoch(const learnt_so_far& mine, std::int64_t step) {
        if constexpr (!in_step) return mine;
        collectives::all_gather_values(transport_, mine, std::span(learnt_of_ranks_),
                                       {channels::evaluation, 1, static_cast<std::uint64_t>(step)});
        learnt_so_far all;
        for (const learnt_so_far& l : learnt_of_ranks_)
            all.loss += l.loss, all.examples += l.examples;
        return all;
    }

private:
    std::span<const float> mean(std::uint64_t number) {
        if constexpr (Strategy::synchronous)
            return parameters_;
        else
            return mean_.of(parameters_, conducting::weight(state_), number);
    }

    Model& model_;
    State& state_;
    std::span<const float> parameters_;
    buffers_type& buffers_;
    transport_ref transport_;
    evaluator<Model> evaluator_;
    mean_parameters mean_;
    std::vector<learnt_so_far> learnt_of_ranks_;
    std::uint64_t evaluations_ = 0;
};

}  // namespace sotto::detail
