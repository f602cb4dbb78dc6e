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

// 3. An asynchronous parameter server: gradients at parameters that were pulled some time ago. Rank
// 0 answers whoever comes first, while its own rank computes, or does nothing else.
struct asynchronous {};
struct delay_compensation_adaptive {
    double lambda = 2.0;
};

template <class Optimizer, class Consistency, class Compensator>
struct parameter_server {
    Optimizer optimizer{};
    Consistency consistency{};
    Compensator compensator{};
    bool dedicated = false;  // rank 0 has no data and only serves

    static constexpr bool synchronous = false;

    template <class Transport>
    class state {
    public:
        state(const parameter_server& options, const sotto::layout& tensors, Transport& through)
            : tensors_(tensors),
              through_(&through),
              optimizer_(options.optimizer.bind(tensors_)),
              lambda_(static_cast<float>(options.compensator.lambda)),
              dedicated_(options.dedicated),
              pulled_(static_cast<std::size_t>(tensors.size())),
              gradient_(pulled_.size()),
              arrived_(through.rank() == 0 ? pulled_.size() : 0),
              at_pull_(static_cast<std::size_t>(through.size()), pulled_) {
            through.reserve(4);
        }

        sotto::data::share share() const {
            if (!dedicated_) return {through_->rank(), through_->size()};
            if (through_->rank() == 0) return {0, 0};
            return {through_->rank() - 1, through_->size() - 1};
        }

        // Nobody waits for anybody: an epoch is this rank's own.
        sotto::epoch_agreement begin_epoch(const sotto::epoch_plan& plan) {
            return {(plan.examples + plan.batch_size - 1) / plan.batch_size, plan.stop != 0};
        }

        template <class Model>
        sotto::round_report round(sotto::task<Model>& job, std::span<float> parameters) {
            start(parameters);
            sotto::round_report report{.examples = job.examples};
            report.loss = job.model.gradient(pulled_, job.batch, std::span<float>(gradient_),
                                             [&](const sotto::tensor&) { serve(parameters); });
            const sotto::tag label{channel, 0, 0};
            if (through_->rank() == 0) {
                apply(0, gradient_, parameters);
                std::copy(parameters.begin(), parameters.end(), pulled_.begin());
            } else {
                through_->wait(through_->send(0, label, std::as_bytes(std::span(gradient_))));
                pull(parameters);
            }
            return report;
        }

        // A worker says so by an empty message. The server answers all with what came of it.
        void finish(std::span<float> parameters) {
            start(parameters);
            const sotto::tag label{channel, 0, 0};
            if (through_->rank() != 0) {
                through_->wait(through_->send(0, label, {}));
                return pull(parameters);
            }
            for (; finished_ < through_->size() - 1; waiting_ = false) {
                listen();
                answer(through_->wait(open_), parameters);
            }
            for (int rank = 1; rank < through_->size(); ++rank)
                through_->wait(through_->send(rank, label, std::as_bytes(parameters)));
            finished_ = 0;
        }

        std::int64_t gradients() const { return gradients_; }

    private:
        void start(std::span<const float> parameters) {
            if (std::exchange(started_, true)) return;
            pulled_.assign(parameters.begin(), parameters.end());
            for (auto& then : at_pull_) then = pulled_;
        }

        void pull(std::span<float> parameters) {
            through_->wait(through_->receive(0, {channel, 0, 0},
                                             std::as_writable_bytes(std::span(pulled_))));
            std::copy(pulled_.begin(), pulled_.end(), parameters.begin());
        }

        void serve(std::span<float> parameters) {
            if (through_->rank() != 0 || finished_ == through_->size() - 1) return;
            listen();
            if (const auto ended = through_->poll(open_)) {
                waiting_ = false;
                answer(*ended, parameters);
            }
        }

        void listen() {
            if (!std::exchange(waiting_, true))
                open_ = through_->receive(sotto::any_rank, {channel, 0, 0},
                                          std::as_writable_bytes(std::span(arrived_)));
        }

        void answer(sotto::completion message, std::span<float> parameters) {
            if (message.bytes == 0) {
                ++finished_;
                return;
            }
            apply(message.source, arrived_, parameters);
            through_->wait(
                through_->send(message.source, {channel, 0, 0}, std::as_bytes(parameters)));
        }

        void apply(int rank, std::span<float> gradient, std::span<float> parameters) {
            ++gradients_;
            auto& then = at_pull_[static_cast<std::size_t>(rank)];
            for (std::size_t i = 0; i < gradient.size(); ++i)
                gradient[i] += lambda_ * gradient[i] * gradient[i] * (parameters[i] - then[i]);
            optimizer_.begin_step({}, gradient);
            for (const sotto::tensor& t : tensors_)
                optimizer_.update(t, t.of(parameters), t.of(std::span<const float>(gradient)));
            then.assign(parameters.begin(), parameters.end());
        }

        using bound = decltype(std::declval<const Optimizer&>().bind(
            std::declval<const sotto::layout&>()));

        sotto::layout tensors_;
        Transport* through_;
        bound optimizer_;
        float lambda_;
        bool dedicated_;
        std::vector<float> pulled_, gradient_, arrived_;
        std::vector<std::vector<float>> at_pull_;
        sotto::request open_{};
        bool started_ = false, waiting_ = false;
        int finished_ = 0;
        std::int64_t gradients_ = 0;
    };

    template <class Transport>
    state<Transport> bind(const sotto::layout& tensors, Transport& through) const {
        return {*this, tensors, through};
    }
    void describe(auto&& field) const {
        field("optimizer", optimizer);
        field("lambda", compensator.lambda);
        field("dedicated", dedicated);
    }
};
template <class O, class C, class D>
parameter_server(O, C, D) -> parameter_server<O, C, D>;
template <class O, class C, class D>
parameter_server(O, C, D, bool) -> parameter_server<O, C, D>;

// 4. Gossip: a step of one's own, then mixing with neighbours, as often as a controller asks for.
namespace topologies {
struct ring {
    int before(int rank, int size) const { return (rank + size - 1) % size; }
    int after(int rank, int size) const { return (rank + 1) % size; }
};
}  // namespace topologies

struct consensus_control {
    double rho = 0.25;
    bool mixes_again(double distance, double length, double rate) const {
        return distance > rho * rate * length;
    }
};

template <class Optimizer, class Topology, class Controller>
struct gossip {
    Optimizer optimizer{};
    Topology topology{};
    Controller controller{};

    static constexpr bool synchronous = false;

    template <class Transport>
    class state {
    public:
        state(const gossip& options, const sotto::layout& tensors, Transport& through)
            : options_(options),
              tensors_(tensors),
              through_(&through),
              optimizer_(options.optimizer.bind(tensors_)),
              gradient_(static_cast<std::size_t>(tensors.size())),
              neighbour_(gradient_.size()),
              plans_(static_cast<std::size_t>(through.size())),
              extents_(plans_.size()) {}

        sotto::data::share share() const { return {through_->rank(), through_->size()}; }

        sotto::epoch_agreement begin_epoch(const sotto::epoch_plan& plan) {
            sotto::collectives::all_gather_values(*through_, plan, std::span(plans_),
                                                  {sotto::channels::epochs, 0, epochs_++});
            sotto::epoch_agreement agreed;
            for (const auto& p : plans_) {
                agreed.rounds =
                    std::max(agreed.rounds, (p.examples + p.batch_size - 1) / p.batch_size);
                agreed.stop |= p.stop != 0;
            }
            return agreed;
        }

        template <class Model>
        sotto::round_report round(sotto::task<Model>& job, std::span<float> parameters) {
            sotto::round_report report{.examples = job.examples};
            if (job.examples > 0) {
                report.loss = job.model.gradient(parameters, job.batch, std::span<float>(gradient_),
                                                 [](const sotto::tensor&) {});
                optimizer_.begin_step({.where = {job.step, job.epoch}}, gradient_);
                for (const sotto::tensor& t : tensors_)
                    optimizer_.update(t, t.of(parameters), t.of(std::span<const float>(gradient_)));
            }
            length_ = job.examples > 0 ? std::sqrt(sotto::kernels::sum_of_squares(gradient_)) : 0.0;
            int mixings = 0;
            do mix(parameters);
            while (mix_again() && ++mixings < 8);
            return report;
        }

    private:
        void mix(std::span<float> parameters) {
            const int rank = through_->rank(), size = through_->size();
            const sotto::tag label{channel, 0, mixings_++};
            const auto received = through_->receive(
                options_.topology.before(rank, size), label,
                std::as_writable_bytes(std::span(neighbour_)));
            through_->wait(through_->send(options_.topology.after(rank, size), label,
                                          std::as_bytes(parameters)));
            through_->wait(received);
            double apart = 0.0;
            for (std::size_t i = 0; i < neighbour_.size(); ++i) {
                const double d = double{parameters[i]} - neighbour_[i];
                apart += d * d;
                parameters[i] = 0.5f * (parameters[i] + neighbour_[i]);
            }
            apart_ = std::sqrt(apart);
        }

        // From numbers that are the same on all ranks, so that all decide alike.
        bool mix_again() {
            sotto::collectives::all_gather_values(*through_, extent{apart_, length_},
                                                  std::span(extents_), {channel, 1, mixings_});
            extent most;
            for (const extent& e : extents_) {
                most.apart = std::max(most.apart, e.apart);
                most.length = std::max(most.length, e.length);
            }
            return options_.controller.mixes_again(most.apart, most.length, 0.1);
        }

        struct extent {
            double apart = 0.0, length = 0.0;
        };

        using bound = decltype(std::declval<const Optimizer&>().bind(
            std::declval<const sotto::layout&>()));

        gossip options_;
        sotto::layout tensors_;
        Transport* through_;
        bound optimizer_;
        std::vector<float> gradient_, neighbour_;
        std::vector<sotto::epoch_plan> plans_;
        std::vector<extent> extents_;
        double apart_ = 0.0, length_ = 0.0;
        std::uint64_t mixings_ = 0, epochs_ = 0;
    };

    template <class Transport>
    state<Transport> bind(const sotto::layout& tensors, Transport& through) const {
        return {*this, tensors, through};
    }
    void describe(auto&& field) const {
        field("optimizer", optimizer);
        field("rho", controller.rho);
    }
};
template <class O, class T, class C>
gossip(O, T, C) -> gossip<O, T, C>;

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
