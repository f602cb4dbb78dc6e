#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "sotto/core/clock.hpp"
#include "sotto/core/detail/memory/large_pages.hpp"
#include "sotto/core/layout.hpp"
#include "sotto/core/random.hpp"
#include "sotto/distillation/distillation_loss.hpp"
#include "sotto/losses/cross_entropy.hpp"
#include "sotto/models/detail/predict_with.hpp"
#include "sotto/models/gradient_source.hpp"
#include "sotto/strategies/detail/codistillation/label_knowledge.hpp"

namespace sotto::detail {

/// A model of the same kind as the student, as it stood at some step: all of its function, with
/// what it keeps besides parameters.
struct teacher_view {
    std::span<const float> parameters;  // of its layout
    std::span<const float> buffers;     // of its buffer_layout
};

/// What a round with teachers was like, for the student that had it.
struct lesson {
    double label_loss = 0.0;         // the model's own loss, by labels alone
    int heard = 0;                   // teachers; with none the rest is 0
    double distillation_loss = 0.0;  // before its weight
    double agreement = 0.0;  // the part of the labels for which its likeliest output is theirs
    duration of_teachers{};  // computing what they say
};

/// Memory that lessons share.
struct lesson_memory {
    large_vector<float> targets, gradient;  // of logits; the second is scratch before it is one
    std::vector<large_vector<float>> said;  // by each teacher
    std::int64_t said_of = -1;              // the step of whose batch; -1: of none
};

/// The gradient of label_loss with respect to the logits.
template <class Model>
double label_gradient(const Model& model, std::span<const float> logits,
                      std::span<const std::int32_t> labels, std::span<float> out) {
    if constexpr (requires { model.loss().gradient(logits, labels, out); })
        return model.loss().gradient(logits, labels, out);
    else
        return cross_entropy{}.gradient(logits, labels, out);
}

/// The part of the rows whose largest entries are in the same place.
double agreement(std::span<const float> a, std::span<const float> b, std::size_t outputs);

/// The mean of so many teachers' targets, of their sum.
void divide(std::span<float> targets, int teachers) noexcept;

/// The gradient of a model by its labels and by targets, of logits that it has just computed.
template <predictor Model, distillation_loss Loss, class OnReady>
double learn(Model& model, const Loss& loss, std::span<const float> parameters,
             const typename Model::batch_type& batch, std::span<const float> logits, double weight,
             lesson_memory& memory, std::span<float> out, OnReady&& on_ready, lesson& had) {
    const auto outputs = static_cast<std::size_t>(model.outputs());
    memory.gradient.resize(logits.size());
    had.label_loss = label_gradient(model, logits, batch.labels(), memory.gradient);
    if (had.heard > 0) {
        had.distillation_loss =
            loss.gradient(logits, outputs, memory.targets, weight, memory.gradient);
        had.agreement = agreement(logits, memory.targets, outputs);
    }
    model.backward(parameters, batch, memory.gradient, out, on_ready);
    return had.label_loss;
}

/// Every teacher is heard.
struct hear_all {
    /// Yes.
    bool operator()(std::size_t, const label_knowledge&) const noexcept { return true; }
};

/// The clock of this machine.
struct real_time {
    /// Its time.
    time_point now() const noexcept { return std::chrono::steady_clock::now(); }
    void passed(std::size_t) const noexcept {}  // so many passes forward were done
};

/// A model that learns by its labels and by what teachers say of the same batch: a gradient_source,
/// so that any strategy trains it unchanged. It lives for one round.
///   math    gradient of phi(labels, logits) + weight x psi(targets, logits), the targets being the
///           mean of what the teachers' logits mean to psi. No gradient reaches a teacher
///   cost    a pass forward for each teacher, as in evaluation: without dropout, with its own
///           running statistics. Of a batch that is known a round ahead it is done while the
///           gradients of the round before travel, by strategies that give the time for it
///           (all_reduce, gossip); by others when its own round begins
///   source  Anil et al. 2018, arXiv:1804.03235
/// `judge(i, label_knowledge)` is asked whether teacher i is heard, which knows that much. Where
/// none is, or the weight is 0, it is the model's own gradient to the last bit. The loss that it
/// returns is that of the labels alone.
template <predictor Model, distillation_loss Loss, class Judge = hear_all, class Clock = real_time>
class distilled_model {
public:
    using batch_type = typename Model::batch_type;

    /// Borrows all but the judge and the clock.
    distilled_model(Model& model, const Loss& loss, std::span<const teacher_view> teachers,
                    double weight, detail::lesson_memory& memory, Judge judge = {},
                    Clock clock = {})
        : model_(model),
          loss_(loss),
          teachers_(teachers),
          weight_(weight),
          memory_(memory),
          judge_(std::move(judge)),
          clock_(std::move(clock)) {}

    /// This round is that of `step`, and the next one's batch is `next`, if it is known and these
    /// teachers will be asked of it.
    void look_ahead(std::int64_t step, const batch_type* next) noexcept {
        step_ = step;
        next_ = next;
    }

    const sotto::layout& layout() const { return model_.layout(); }
    void initialise(std::span<float> parameters, random_stream random) const {
        model_.initialise(parameters, random);
    }

    double gradient(std::span<const float> parameters, const batch_type& batch,
                    std::span<float> out, auto&& on_ready) {
        had_ = {};
        if (weight_ != 0.0 && !teachers_.empty()) listen(batch);
        if (had_.heard == 0)
            had_.label_loss = model_.gradient(parameters, batch, out, on_ready);
        else
            detail::learn(model_, loss_, parameters, batch, model_.forward(parameters, batch),
                          weight_, memory_, out, on_ready, had_);
        return had_.label_loss;
    }

    /// All of this round's gradients are on their way: asks teachers of the next batch.
    void meanwhile(auto&& advance) {
        if (next_ && weight_ != 0.0 && !teachers_.empty()) ask(*next_, step_ + 1, advance);
    }

    auto work_of(const batch_type& batch) const requires requires(const Model& m) {
        m.work_of(batch);
    }
    { return model_.work_of(batch); }

    /// That of the last gradient.
    const lesson& had() const noexcept { return had_; }

private:
    /// What all teachers say of the batch of a step.
    void ask(const batch_type& batch, std::int64_t step, auto&& after_each) {
        const time_point began = clock_.now();
        memory_.said.resize(teachers_.size());
        for (std::size_t i = 0; i < teachers_.size(); ++i) {
            const auto said =
                predict_with(model_, teachers_[i].parameters, teachers_[i].buffers, batch);
            memory_.said[i].assign(said.begin(), said.end());
            after_each();
        }
        memory_.said_of = step;
        clock_.passed(teachers_.size());
        had_.of_teachers += clock_.now() - began;
    }

    /// Which teachers are heard, and what they say together.
    void listen(const batch_type& batch) {
        if (step_ < 0 || memory_.said_of != step_) ask(batch, step_, [] {});
        const auto outputs = static_cast<std::size_t>(model_.outputs());
        const time_point began = clock_.now();
        memory_.targets.assign(batch.labels().size() * outputs, 0.0f);
        const double chance =
            detail::chance_loss(model_, batch.labels(), outputs, memory_.gradient);
        for (std::size_t i = 0; i < teachers_.size(); ++i) {
            const std::span<const float> said = memory_.said[i];
            if (!judge_(i, detail::knowledge_of(model_, said, batch.labels(), chance,
                                                memory_.gradient)))
                continue;
            loss_.add(said, outputs, 1.0, memory_.targets);
            ++had_.heard;
        }
        detail::divide(memory_.targets, had_.heard);
        had_.of_teachers += clock_.now() - began;
    }

    Model& model_;
    const Loss& loss_;
    std::span<const teacher_view> teachers_;
    double weight_;
    detail::lesson_memory& memory_;
    Judge judge_;
    Clock clock_;
    std::int64_t step_ = -1;
    const batch_type* next_ = nullptr;
    lesson had_;
};

}  // namespace sotto::detail

#ifndef SOTTO_SEPARATE_COMPILATION
#include "sotto/strategies/detail/codistillation/distilled_model.ipp"
#endif
