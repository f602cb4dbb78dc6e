#pragma once

// Strategies that the library has not yet, with the least that each must have: the concepts of
// strategy, task, model, transport and group must carry them.

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "sotto/collectives/all_gather_values.hpp"
#include "sotto/core/layout.hpp"
#include "sotto/data/sampler.hpp"
#include "sotto/kernels/arithmetic.hpp"
#include "sotto/models/gradient_source.hpp"
#include "sotto/strategies/strategy.hpp"
#include "sotto/transports/group.hpp"
#include "sotto/transports/transport.hpp"

namespace sketch {

inline constexpr std::uint32_t channel = 16;  // the first that is a program's own

// 5. Codistillation: another strategy in each of several groups, over a model that is also drawn
// towards what a teacher predicts.
struct soft_cross_entropy {
    std::int64_t burn_in = 1000;
};
struct checkpoint_exchange {
    std::string folder;
    int groups = 2;
    std::int64_t every = 50;
};

/// A gradient source around another: its own gradient and the pull of a teacher. Own memory is
/// lent to it, so that it can be made anew for every round.
template <sotto::predictor Model>
struct distilled {
    using batch_type = typename Model::batch_type;

    Model& student;
    std::span<const float> teacher;
    std::span<float> own_gradient;
    std::vector<float>& pull;

    const sotto::layout& layout() const { return student.layout(); }
    void initialise(std::span<float> parameters, sotto::random_stream random) const {
        student.initialise(parameters, random);
    }

    double gradient(std::span<const float> parameters, const batch_type& batch,
                    std::span<float> out, auto&& on_ready) {
        const double loss =
            student.gradient(parameters, batch, own_gradient, [](const sotto::tensor&) {});
        const auto wanted = student.predict(teacher, batch);
        const auto logits = student.forward(parameters, batch);
        pull.assign(logits.begin(), logits.end());
        const auto examples = static_cast<float>(batch.labels().size());
        for (std::size_t i = 0; i < pull.size(); ++i) pull[i] = (pull[i] - wanted[i]) / examples;
        student.backward(parameters, batch, pull, out, [&](const sotto::tensor& t) {
            sotto::kernels::add(t.of(out), t.of(std::span<const float>(own_gradient)));
            on_ready(t);
        });
        return loss;
    }
};

template <class Inner, class Loss, class Exchange>
struct codistillation {
    Inner inner{};
    Loss loss{};
    Exchange exchange{};

    static constexpr bool synchronous = false;  // groups differ

    template <class Transport>
    class state {
        using group = sotto::group<Transport>;

    public:
        state(const codistillation& options, const sotto::layout& tensors, Transport& through)
            : options_(options),
              number_(through.rank() % options.exchange.groups),
              group_(sotto::split(through, number_)),
              inner_(options.inner.bind(tensors, group_)),
              teacher_(static_cast<std::size_t>(tensors.size())),
              own_gradient_(teacher_.size()) {}
        state(const state&) = delete;

        // A group reads all data, in its own order, from its own start.
        std::int64_t start_group() const { return number_; }
        sotto::data::share share() const { return inner_.share(); }
        sotto::epoch_agreement begin_epoch(const sotto::epoch_plan& plan) {
            return inner_.begin_epoch(plan);
        }

        template <class Model>
        sotto::round_report round(sotto::task<Model>& job, std::span<float> parameters) {
            static_assert(sotto::predictor<Model>,
                          "codistillation: the model must be a predictor, which shows logits");
            if (job.step < options_.loss.burn_in) return inner_.round(job, parameters);
            if (job.step % options_.exchange.every == 0)
                std::copy(parameters.begin(), parameters.end(), teacher_.begin());
            distilled<Model> model{job.model, teacher_, own_gradient_, pull_};
            sotto::task<distilled<Model>> pulled{model, job.batch, job.examples, job.step,
                                                 job.epoch};
            return inner_.round(pulled, parameters);
        }

    private:
        codistillation options_;
        int number_;
        group group_;  // before what refers to it
        sotto::strategy_state<Inner, group> inner_;
        std::vector<float> teacher_, own_gradient_, pull_;
    };

    template <class Transport>
    state<Transport> bind(const sotto::layout& tensors, Transport& through) const {
        return {*this, tensors, through};
    }
    void describe(auto&& field) const {
        field("inner", inner);
        field("burn_in", loss.burn_in);
        field("groups", exchange.groups);
        field("every", exchange.every);
    }
};
template <class I, class L, class E>
codistillation(I, L, E) -> codistillation<I, L, E>;

}  // namespace sketch
