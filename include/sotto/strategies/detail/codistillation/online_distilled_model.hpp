#pragma once

#include <cstddef>
#include <span>
#include <utility>

#include "sotto/core/layout.hpp"
#include "sotto/core/random.hpp"
#include "sotto/distillation/distillation_loss.hpp"
#include "sotto/models/gradient_source.hpp"
#include "sotto/strategies/detail/codistillation/label_knowledge.hpp"
#include "sotto/strategies/detail/codistillation/distilled_model.hpp"

namespace sotto::detail {

/// A model that learns by its labels and by what others say of the same batch at this moment: a
/// gradient_source, so that any strategy trains it unchanged. It lives for one round.
///   math    as `distilled_model`, with teachers as they are in this round, in training: with
///           dropout and with the statistics of the batch
///   cost    no pass forward: others do theirs. A round waits for them
/// `ask(logits, labels, take)` sends this model's logits to others, and calls take(i, logits) with
/// those of the ith teacher. `judge` is as that of `distilled_model`. With weight 0 `ask` is not
/// called.
template <predictor Model, distillation_loss Loss, class Ask, class Judge>
class online_distilled_model {
public:
    using batch_type = typename Model::batch_type;

    /// Borrows the model, the loss and the memory.
    online_distilled_model(Model& model, const Loss& loss, double weight,
                           detail::lesson_memory& memory, Ask ask, Judge judge)
        : model_(model),
          loss_(loss),
          weight_(weight),
          memory_(memory),
          ask_(std::move(ask)),
          judge_(std::move(judge)) {}

    const sotto::layout& layout() const { return model_.layout(); }
    void initialise(std::span<float> parameters, random_stream random) const {
        model_.initialise(parameters, random);
    }

    double gradient(std::span<const float> parameters, const batch_type& batch,
                    std::span<float> out, auto&& on_ready) {
        had_ = {};
        if (weight_ == 0.0)
            return had_.label_loss = model_.gradient(parameters, batch, out, on_ready);
        const auto outputs = static_cast<std::size_t>(model_.outputs());
        const std::span<const float> logits = model_.forward(parameters, batch);
        memory_.targets.assign(logits.size(), 0.0f);
        const double chance =
            detail::chance_loss(model_, batch.labels(), outputs, memory_.gradient);
        had_.of_teachers =
            ask_(logits, batch.labels(), [&](std::size_t i, std::span<const float> said) {
                if (!judge_(i, detail::knowledge_of(model_, said, batch.labels(), chance,
                                                    memory_.gradient)))
                    return;
                loss_.add(said, outputs, 1.0, memory_.targets);
                ++had_.heard;
            });
        detail::divide(memory_.targets, had_.heard);
        return detail::learn(model_, loss_, parameters, batch, logits, weight_, memory_, out,
                             on_ready, had_);
    }

    auto work_of(const batch_type& batch) const requires requires(const Model& m) {
        m.work_of(batch);
    }
    { return model_.work_of(batch); }

    /// That of the last gradient.
    const lesson& had() const noexcept { return had_; }

private:
    Model& model_;
    const Loss& loss_;
    double weight_;
    detail::lesson_memory& memory_;
    Ask ask_;
    Judge judge_;
    lesson had_;
};

}  // namespace sotto::detail
