#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>

#include "sotto/core/detail/memory/finite.hpp"
#include "sotto/core/detail/memory/large_pages.hpp"
#include "sotto/losses/cross_entropy.hpp"

namespace sotto::detail {

/// How somebody's logits do on a batch's labels, by the loss that the student learns by.
struct label_knowledge {
    double loss = 0.0;    // mean over the labels
    double chance = 0.0;  // of who knows nothing and says so: all logits alike
    double unsure = 0.0;  // of the same logits, halved; where the loss is below chance, the loss

    /// Below 0: they know something. A loss above chance is not enough to tell that they do not:
    /// who has learnt wrong labels by heart is right most of the time, and too sure when wrong.
    double above_chance() const noexcept { return (std::min)(loss, unsure) - chance; }
};

/// The loss that a model learns by, of somebody's logits.
template <class Model>
double label_loss(const Model& model, std::span<const float> logits,
                  std::span<const std::int32_t> labels) {
    if constexpr (requires { model.loss().value(logits, labels); })
        return model.loss().value(logits, labels);
    else
        return cross_entropy{}.value(logits, labels);
}

/// That of logits that are all 0: for c outputs log(c) by cross-entropy, however it is smoothed,
/// and 1/2 by squared_error.
///   cost    32 labels at most, since a vocabulary may be large and the loss is that of any label,
///           but where a user's own weighs them
template <class Model>
double chance_loss(const Model& model, std::span<const std::int32_t> labels, std::size_t outputs,
                   large_vector<float>& scratch) {
    const auto some = labels.first(std::min<std::size_t>(labels.size(), 32));
    scratch.assign(some.size() * outputs, 0.0f);
    return label_loss(model, scratch, some);
}

template <class Model>
label_knowledge knowledge_of(const Model& model, std::span<const float> logits,
                             std::span<const std::int32_t> labels, double chance,
                             large_vector<float>& scratch) {
    label_knowledge found{.loss = label_loss(model, logits, labels), .chance = chance};
    found.unsure = found.loss;
    if (is_nan(found.loss) || found.loss >= chance) {
        scratch.resize(logits.size());
        std::ranges::transform(logits, scratch.begin(), [](float z) { return 0.5f * z; });
        found.unsure = label_loss(model, scratch, labels);
    }
    return found;
}

}  // namespace sotto::detail
