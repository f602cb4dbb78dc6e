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

/// What all ranks have learnt, of which each has a part: the one model that they have together, how
/// good it is, and the mean loss on the way to it. Ranks that learn in step do all of it together;
/// of another strategy each is by itself.
///   math    where ranks' parameters differ, of their mean: sum of w_i x_i over sum of w_i, with
///           the weights that the strategy gives them. Of models' buffers it is the plain mean
template <class Model, class Strategy, class State>
class global_evaluator {
    using buffers_type = model_buffers<Model>;

    static constexpr bool in_step = conducting::in_step<Strategy>;

public:
    /// All but the batch size stay the caller's.
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

    /// Calls use(parameters) for the model that all have together, whose buffers this rank's then
    /// has; where ranks do not learn in step, for its own.
    auto as_one(auto&& use) {
        if constexpr (in_step) {
            const std::uint64_t number = evaluations_++;
            return buffers_.with_mean(number, [&] { return use(mean(number)); });
        } else {
            buffers_.require_of_training(!state_.share().empty());
            return use(parameters_);
        }
    }

    /// How good the model is that all have together.
    template <class Data>
    evaluation evaluate(const Data& data) {
        if constexpr (in_step)
            return evaluate_mean(data);
        else
            return evaluate_local(data);
    }

    /// The same of the mean, also of ranks that do not learn in step: all of them are there.
    template <class Data>
    evaluation evaluate_mean(const Data& data) {
        const std::uint64_t number = evaluations_++;
        return buffers_.with_mean(
            number, [&] { return evaluator_.shared(model_, mean(number), data, transport_); });
    }

    /// Of all ranks' parameters; valid until the next call.
    std::span<const float> mean() { return mean(evaluations_++); }

    /// How good each rank's own is, where ranks learn in step.
    template <class Data>
    own_evaluations evaluate_each(const Data& data) {
        return evaluator_.own(model_, parameters_, data, transport_);
    }

    /// How good this rank's own is. No other has part in it.
    template <class Data>
    evaluation evaluate_local(const Data& data) {
        buffers_.require_of_training(!state_.share().empty());
        return evaluator_.alone(model_, parameters_, data);
    }

    /// What was learnt in an epoch, up to this step, by everybody.
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
