#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "sotto/core/errors.hpp"
#include "sotto/core/detail/memory/finite.hpp"
#include "sotto/core/require_option.hpp"
#include "sotto/data/dataset.hpp"
#include "sotto/distillation/softened.hpp"
#include "sotto/losses/loss.hpp"
#include "sotto/models/gradient_source.hpp"
#include "sotto/models/detail/predict_with.hpp"

namespace sotto::detail {

/// One training of a model: its parameters, and its buffers such as running statistics.
struct ensemble_member {
    std::vector<float> parameters{};  // in the order of the model's layout
    std::vector<float> buffers{};     // in the order of its buffer_layout; may be empty
};

/// Scores of an ensemble on a set of labels.
struct ensemble_scores {
    double log_loss = 0.0;    // mean of -log of the probability of the label
    double accuracy = 0.0;    // part of the labels with the largest probability; NaN without labels
    std::int64_t labels = 0;  // number of labels evaluated
};

}  // namespace sotto::detail

namespace sotto {

/// Averages the predictions of several trainings of one model:
/// `ensemble both{model, {{a, {}}, {b, {}}}}`. It refers to the model, which must outlive it and
/// may be used between calls.
///   math    p = 1/n sum of softmax(logits of member k): the mean of probabilities, so its log-loss
///           is at most the mean of the members' log-losses
///   shape   labels x outputs(), row-major: a sequence has a distribution at each of its positions
///   cost    one forward pass per member, as in evaluation: without dropout, with the member's own
///           running statistics. Memory for the members and the predictions of a batch; no
///           allocation after the largest batch
///   errors  invalid_option: no members, or a member that does not fit the model; errors of the
///           model's predict; labels outside the outputs, in calls that use labels
template <class Model>
class ensemble {
    static_assert(predictor<Model>,
                  "ensemble: the model must be a predictor: it needs outputs(), forward, backward, "
                  "predict(parameters, batch), and batches with labels()");

public:
    using batch_type = typename Model::batch_type;

    /// Takes the members; the model computes for all of them.
    ensemble(Model& model, std::vector<detail::ensemble_member> members)
        : model_(model), members_(std::move(members)) {
        if (members_.empty())
            throw invalid_option("ensemble: there are no members; expected at least 1");
        std::size_t buffers = 0;
        if constexpr (detail::with_buffers<Model>) buffers = model.buffers().size();
        for (std::size_t k = 0; k < members_.size(); ++k) {
            require(k, "parameters", members_[k].parameters.size(),
                    static_cast<std::size_t>(model.layout().size()));
            require(k, "buffers", members_[k].buffers.size(), buffers);
        }
    }

    /// Number of members.
    std::int64_t size() const noexcept { return static_cast<std::int64_t>(members_.size()); }
    std::int64_t outputs() const { return model_.outputs(); }

    /// Returns probabilities, valid until the next call.
    std::span<const float> predict(const batch_type& batch) {
        begin(batch);
        for (const detail::ensemble_member& member : members_) ask(member, batch, [](auto&&...) {});
        return mean_;
    }

    /// Returns the probabilities for a whole data set, in its order, as churn_between expects.
    template <dataset Data>
    std::vector<float> predict(const Data& data, std::int64_t batch_size = 256) {
        std::vector<float> all;
        read(data, batch_size, [&](const batch_type& batch) {
            const auto said = predict(batch);
            all.insert(all.end(), said.begin(), said.end());
        });
        return all;
    }

    /// Returns the scores on the labels of a batch.
    detail::ensemble_scores evaluate(const batch_type& batch) {
        sums total;
        add(total, batch);
        return total.mean();
    }

    /// Returns the scores on the labels of a whole data set, read in batches of `batch_size`.
    template <dataset Data>
    detail::ensemble_scores evaluate(const Data& data, std::int64_t batch_size = 256) {
        sums total;
        read(data, batch_size, [&](const batch_type& batch) { add(total, batch); });
        return total.mean();
    }

private:
    struct sums {
        double surprise = 0.0;
        std::int64_t right = 0, labels = 0;

        detail::ensemble_scores mean() const noexcept {
            const double count = static_cast<double>(labels);
            return {labels == 0 ? 0.0 : surprise / count,
                    labels == 0 ? std::numeric_limits<double>::quiet_NaN()
                                : static_cast<double>(right) / count,
                    labels};
        }
    };

    static void require(std::size_t member, const char* what, std::size_t found,
                        std::size_t expected) {
        if (found != expected)
            throw invalid_option("ensemble: member " + std::to_string(member) + " has " +
                                 std::to_string(found) + " " + what + "; expected " +
                                 std::to_string(expected) + ", as the model has");
    }

    void begin(const batch_type& batch) {
        mean_.assign(batch.labels().size() * static_cast<std::size_t>(outputs()), 0.0f);
    }

    /// Adds a member's predictions to the mean. Calls sees(row, logits, p) for each row; p is the
    /// distribution of its logits.
    template <class Sees>
    void ask(const detail::ensemble_member& member, const batch_type& batch, Sees sees) {
        const auto logits = detail::predict_with(model_, member.parameters, member.buffers, batch);
        const auto width = static_cast<std::size_t>(outputs());
        const double share = 1.0 / static_cast<double>(members_.size());
        for (std::size_t i = 0; i < batch.labels().size(); ++i) {
            const auto row = logits.subspan(i * width, width);
            const detail::softened p(row, 1.0);
            for (std::size_t j = 0; j < width; ++j)
                mean_[i * width + j] += static_cast<float>(share * std::exp(p.log(row[j])));
            sees(i, row, p);
        }
    }

    /// Returns log(exp a + exp b).
    static double log_sum(double a, double b) noexcept {
        if (a < b) std::swap(a, b);
        return detail::is_infinite(b) ? a : a + std::log1p(std::exp(b - a));
    }

    /// Sums logarithms, so that a label of tiny probability has a large loss and not an infinite
    /// one.
    void add(sums& total, const batch_type& batch) {
        begin(batch);
        const std::span<const std::int32_t> labels = batch.labels();
        detail::checked_outputs("ensemble", mean_, labels);
        logs_.assign(labels.size(), -std::numeric_limits<double>::infinity());
        for (const detail::ensemble_member& member : members_)
            ask(member, batch,
                [&](std::size_t i, std::span<const float> row, const detail::softened& p) {
                    logs_[i] = log_sum(logs_[i], p.log(row[static_cast<std::size_t>(labels[i])]));
                });
        const double whole = std::log(static_cast<double>(members_.size()));
        const auto width = static_cast<std::size_t>(outputs());
        for (std::size_t i = 0; i < labels.size(); ++i) {
            const auto row = std::span<const float>(mean_).subspan(i * width, width);
            total.surprise += whole - logs_[i];
            total.right += std::max_element(row.begin(), row.end()) - row.begin() == labels[i];
        }
        total.labels += static_cast<std::int64_t>(labels.size());
    }

    template <class Data, class Use>
    void read(const Data& data, std::int64_t batch_size, Use use) {
        static_assert(std::is_same_v<typename Data::batch_type, batch_type>,
                      "ensemble: the data set's batch_type is not the one that the model reads");
        require_option("ensemble", "batch_size", batch_size, detail::allowed::at_least(1));
        std::vector<std::int64_t> indices;
        for (std::int64_t from = 0, size = data.size(); from < size; from += batch_size) {
            indices.clear();
            for (std::int64_t i = from; i < (std::min)(size, from + batch_size); ++i)
                indices.push_back(i);
            data.gather(std::span<const std::int64_t>(indices), batch_);
            use(batch_);
        }
    }

    Model& model_;
    std::vector<detail::ensemble_member> members_;
    std::vector<float> mean_;   // probabilities of the last batch
    std::vector<double> logs_;  // of its labels, summed over members
    batch_type batch_;          // batch of a data set
};

}  // namespace sotto
