#pragma once

#include <algorithm>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "sotto/collectives/detail/all_gather_values.hpp"
#include "sotto/core/detail/memory/finite.hpp"
#include "sotto/losses/cross_entropy.hpp"
#include "sotto/models/gradient_source.hpp"
#include "sotto/trainer/reports.hpp"
#include "sotto/transports/transport.hpp"
#include "sotto/transports/transport_ref.hpp"

namespace sotto::detail {

/// A model with its own loss:
/// loss(parameters, batch) -> double the mean loss of a batch
template <class M>
concept tells_loss = requires(M& model, std::span<const float> parameters,
                              const typename M::batch_type& batch) {
    { model.loss(parameters, batch) } -> std::convertible_to<double>;
};

/// A model with a measurable quality: from its logits, its loss, or both.
template <class M>
concept measurable = predictor<M> || tells_loss<M>;

/// A predictor with a public training loss: `loss()`.
template <class M>
concept shows_loss = requires(const M& model, std::span<const float> logits,
                              std::span<const std::int32_t> labels) {
    { model.loss().value(logits, labels) } -> std::convertible_to<double>;
};

/// Measures a model on a data set in batches, in reused memory. The loss is
/// `loss(parameters, batch)` of the model. Without it, the loss is that of the model's `loss()` on
/// its logits, or else their cross-entropy. Without labels, accuracy is NaN.
template <class Model>
class evaluator {
public:
    /// Reads `batch_size` examples at a time.
    evaluator(std::int64_t batch_size, transport_ref through)
        : batch_size_(batch_size), everybodys_(static_cast<std::size_t>(through.size())) {}

    /// Ranks divide the examples, and add their results in rank order.
    template <class Data>
    evaluation shared(Model& model, std::span<const float> parameters, const Data& data,
                      transport_ref through) {
        const std::int64_t size = data.size(), world = through.size(), rank = through.rank();
        const sums mine =
            measure(model, parameters, data, size * rank / world, size * (rank + 1) / world);
        collectives::all_gather_values(through, mine, std::span(everybodys_),
                                       {channels::evaluation, 0, rounds_++});
        sums all;
        for (const sums& s : everybodys_) all.add(s);
        return all.mean();
    }

    /// Every rank measures its own model on all examples, and the ranks exchange their results.
    template <class Data>
    own_evaluations own(Model& model, std::span<const float> parameters, const Data& data,
                        transport_ref through) {
        collectives::all_gather_values(through, measure(model, parameters, data, 0, data.size()),
                                       std::span(everybodys_),
                                       {channels::evaluation, 0, rounds_++});
        return {over_all([](const evaluation& e) { return e.loss; }),
                over_all([](const evaluation& e) { return e.accuracy; })};
    }

    /// This rank measures all examples.
    template <class Data>
    evaluation alone(Model& model, std::span<const float> parameters, const Data& data) {
        return measure(model, parameters, data, 0, data.size()).mean();
    }

private:
    struct sums {
        double loss = 0.0;
        std::int64_t correct = 0;
        std::int64_t examples = 0;
        std::int64_t labels = 0;  // a sequence has several

        void add(const sums& other) noexcept {
            loss += other.loss;
            correct += other.correct;
            examples += other.examples;
            labels += other.labels;
        }
        evaluation mean() const noexcept {
            return {loss / static_cast<double>(std::max<std::int64_t>(examples, 1)),
                    labels > 0 ? static_cast<double>(correct) / static_cast<double>(labels)
                               : std::numeric_limits<double>::quiet_NaN(),
                    examples};
        }
    };

    /// A NaN counts as the maximum.
    over_ranks over_all(auto&& of) const {
        over_ranks all{std::numeric_limits<double>::infinity(), 0.0,
                       -std::numeric_limits<double>::infinity()};
        for (const sums& s : everybodys_) {
            const double value = of(s.mean());
            if (!is_nan(value)) all.least = (std::min)(all.least, value);
            all.mean += value / static_cast<double>(everybodys_.size());
            all.most = is_nan(value) || all.most < value ? value : all.most;
        }
        if (is_nan(all.mean) && !is_finite(all.least)) all.least = all.mean;
        return all;
    }

    template <class Data>
    sums measure(Model& model, std::span<const float> parameters, const Data& data,
                 std::int64_t from, std::int64_t to) {
        sums total;
        while (from < to) {
            const auto count = (std::min)(to - from, batch_size_);
            if (indices_.size() < static_cast<std::size_t>(count))
                indices_.resize(static_cast<std::size_t>(count));
            for (std::int64_t i = 0; i < count; ++i)
                indices_[static_cast<std::size_t>(i)] = from + i;
            data.gather(
                std::span<const std::int64_t>(indices_).first(static_cast<std::size_t>(count)),
                batch_);
            add(total, model, parameters, count);
            from += count;
        }
        return total;
    }

    void add(sums& total, Model& model, std::span<const float> parameters, std::int64_t count) {
        total.examples += count;
        if constexpr (tells_loss<Model>)
            total.loss += model.loss(parameters, batch_) * static_cast<double>(count);
        if constexpr (predictor<Model>) {
            const std::span<const float> logits = model.predict(parameters, batch_);
            const std::span<const std::int32_t> labels = batch_.labels();
            if constexpr (!tells_loss<Model>)
                total.loss += by_logits(model, logits, labels) * static_cast<double>(count);
            total.labels += static_cast<std::int64_t>(labels.size());
            const auto outputs = static_cast<std::size_t>(model.outputs());
            for (std::size_t i = 0; i < labels.size(); ++i) {
                const auto row = logits.subspan(i * outputs, outputs);
                total.correct +=
                    std::max_element(row.begin(), row.end()) - row.begin() == labels[i];
            }
        }
    }

    static double by_logits(const Model& model, std::span<const float> logits,
                            std::span<const std::int32_t> labels) {
        if constexpr (detail::shows_loss<Model>)
            return model.loss().value(logits, labels);
        else
            return cross_entropy{}.value(logits, labels);
    }

    std::int64_t batch_size_;
    std::vector<std::int64_t> indices_;
    std::vector<sums> everybodys_;
    typename Model::batch_type batch_;
    std::uint64_t rounds_ = 0;
};

}  // namespace sotto::detail
