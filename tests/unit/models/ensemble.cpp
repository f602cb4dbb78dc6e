#include "sotto/models/ensemble.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <string>
#include <vector>

#include "sotto/core/random.hpp"
#include "sotto/data/digits.hpp"
#include "sotto/data/text_set.hpp"
#include "sotto/losses/cross_entropy.hpp"
#include "sotto/losses/squared_error.hpp"
#include "sotto/models/churn.hpp"
#include "sotto/models/character_lstm.hpp"
#include "sotto/models/mlp.hpp"
#include "sotto/models/sequential.hpp"
#include "sotto/nn/batch_norm.hpp"
#include "sotto/nn/chain.hpp"
#include "sotto/nn/dense.hpp"
#include "support/allocation_count.hpp"
#include "unit/models/model_check.hpp"

using namespace sotto;

namespace {

using floats = std::vector<float>;

/// Whoever brings a model of their own need not take buffers in predict.
class lending {
public:
    using batch_type = data::labelled_batch;

    const sotto::layout& layout() const { return inner_.layout(); }
    void initialise(std::span<float> to, random_stream random) const {
        inner_.initialise(to, random);
    }
    double gradient(std::span<const float> at, const batch_type& batch, std::span<float> out,
                    auto&& on_ready) {
        return inner_.gradient(at, batch, out, on_ready);
    }
    std::int64_t outputs() const { return inner_.outputs(); }
    std::span<const float> forward(std::span<const float> at, const batch_type& batch) {
        return inner_.forward(at, batch);
    }
    void backward(std::span<const float> at, const batch_type& batch, std::span<const float> of,
                  std::span<float> out, auto&& on_ready) {
        inner_.backward(at, batch, of, out, on_ready);
    }
    std::span<const float> predict(std::span<const float> at, const batch_type& batch) {
        return inner_.predict(at, batch);
    }
    std::span<float> buffers() { return inner_.buffers(); }
    const sotto::layout& buffer_layout() const { return inner_.buffer_layout(); }
    void reset_buffers() { inner_.reset_buffers(); }

private:
    models::sequential<nn::chain<nn::dense, nn::batch_norm, nn::dense>> inner_{
        nn::shape{4, 1, 1}, nn::chain{nn::dense{6}, nn::batch_norm{}, nn::dense{3}}};
};
static_assert(predictor<lending> && detail::with_buffers<lending>);

std::vector<double> softmax(std::span<const float> logits) {
    const float top = *std::ranges::max_element(logits);
    std::vector<double> p;
    for (const float z : logits) p.push_back(std::exp(double{z} - top));
    const double sum = std::accumulate(p.begin(), p.end(), 0.0);
    for (double& value : p) value /= sum;
    return p;
}

}  // namespace

TEST_CASE("an ensemble of one is the model") {
    models::mlp model{20, 8, 5};
    const auto batch = model_test::random_batch(40, 20, 5);
    const floats parameters = model_test::starting_values(model);
    ensemble one{model, {{parameters, {}}}};
    CHECK(one.size() == 1);
    CHECK(one.outputs() == 5);
    const auto said = one.predict(batch);
    const auto logits = model.predict(parameters, batch);
    REQUIRE(said.size() == logits.size());
    std::int64_t right = 0;
    for (std::size_t i = 0; i < 40; ++i) {
        const auto row = logits.subspan(i * 5, 5);
        const auto p = softmax(row);
        for (std::size_t j = 0; j < 5; ++j)
            CHECK(said[i * 5 + j] == doctest::Approx(p[j]).epsilon(1e-6));
        right += std::ranges::max_element(row) - row.begin() == batch.labels()[i];
    }
    const detail::ensemble_scores found = one.evaluate(batch);
    CHECK(found.log_loss ==
          doctest::Approx(cross_entropy{}.value(logits, batch.labels())).epsilon(1e-6));
    CHECK(found.accuracy == static_cast<double>(right) / 40.0);
    CHECK(found.labels == 40);
}

TEST_CASE("an ensemble gives the mean of probabilities, and its log-loss is at most its members'") {
    models::mlp model{{20, 8, 5}, squared_error{}};  // whatever they learnt by
    const auto batch = model_test::random_batch(64, 20, 5);
    std::vector<detail::ensemble_member> members;
    for (const std::uint64_t seed : {1u, 2u, 3u}) {
        floats parameters = model_test::starting_values(model, seed);
        for (float& value : parameters) value *= 4.0f;  // sure of itself
        members.push_back({parameters, {}});
    }
    ensemble all{model, members};
    const floats mean(all.predict(batch).begin(), all.predict(batch).end());
    std::vector<double> expected(mean.size());
    double loss_of_members = 0.0, loss_by_hand = 0.0;
    for (const detail::ensemble_member& member : members) {
        ensemble one{model, {member}};
        const auto said = one.predict(batch);
        for (std::size_t i = 0; i < said.size(); ++i) expected[i] += double{said[i]} / 3.0;
        loss_of_members += one.evaluate(batch).log_loss / 3.0;
    }
    for (std::size_t i = 0; i < mean.size(); ++i)
        CHECK(mean[i] == doctest::Approx(expected[i]).epsilon(1e-6));
    for (std::size_t i = 0; i < 64; ++i)
        loss_by_hand -=
            std::log(expected[i * 5 + static_cast<std::size_t>(batch.labels()[i])]) / 64.0;
    const double found = all.evaluate(batch).log_loss;
    CHECK(found == doctest::Approx(loss_by_hand).epsilon(1e-6));
    CHECK(found < loss_of_members);  // they do differ

    // Equal members are as good as one.
    ensemble twice{model, {members[0], members[0]}}, once{model, {members[0]}};
    CHECK(twice.evaluate(batch).log_loss ==
          doctest::Approx(once.evaluate(batch).log_loss).epsilon(1e-12));
    CHECK(twice.evaluate(batch).accuracy == once.evaluate(batch).accuracy);
}

TEST_CASE("members speak with their own running statistics, and the model keeps its own") {
    const auto check = [](auto& model) {
        const auto batch = model_test::random_batch(16, 4, 3);
        const floats first = model_test::starting_values(model, 1),
                     second = model_test::starting_values(model, 2);
        floats gradient(first.size());
        const floats start(model.buffers().begin(), model.buffers().end());
        for (int i = 0; i < 5; ++i) model.gradient(first, batch, gradient, [](const tensor&) {});
        const floats learnt(model.buffers().begin(), model.buffers().end());
        REQUIRE(learnt != start);
        const auto logits = model.predict(first, batch);
        std::vector<double> expected;
        for (std::size_t i = 0; i < 16; ++i)
            for (const double p : softmax(logits.subspan(i * 3, 3))) expected.push_back(p);

        model.reset_buffers();
        ensemble right{model, {{first, learnt}}}, wrong{model, {{first, start}}};
        const auto said = right.predict(batch);
        for (std::size_t i = 0; i < said.size(); ++i)
            CHECK(said[i] == doctest::Approx(expected[i]).epsilon(1e-6));
        CHECK(wrong.evaluate(batch).log_loss != right.evaluate(batch).log_loss);
        ensemble both{model, {{first, learnt}, {second, start}}};
        const double loss = both.evaluate(batch).log_loss;
        CHECK(loss <= 0.5 * (right.evaluate(batch).log_loss +
                             ensemble{model, {{second, start}}}.evaluate(batch).log_loss));
        CHECK(std::ranges::equal(model.buffers(), start));
        CHECK_THROWS_WITH_AS((ensemble{model, {{first, learnt}, {second, {}}}}),
                             ("ensemble: member 1 has 0 buffers; expected " +
                              std::to_string(learnt.size()) + ", as the model has")
                                 .c_str(),
                             invalid_option);
    };
    models::sequential taking{nn::shape{4, 1, 1},
                              nn::chain{nn::dense{6}, nn::batch_norm{}, nn::dense{3}}};
    check(taking);
    lending own;
    check(own);
}

TEST_CASE("on a data set it is the same however that is cut into batches") {
    const auto unseen = data::digits(90, random_stream{4});
    models::mlp model{784, 10};
    ensemble both{
        model,
        {{model_test::starting_values(model, 1), {}}, {model_test::starting_values(model, 2), {}}}};
    const detail::ensemble_scores whole = both.evaluate(unseen), parts = both.evaluate(unseen, 7);
    CHECK(whole.labels == 90);
    CHECK(parts.labels == 90);
    CHECK(parts.log_loss == doctest::Approx(whole.log_loss).epsilon(1e-6));
    CHECK(parts.accuracy == whole.accuracy);
    const floats said = both.predict(unseen, 7);
    REQUIRE(said.size() == 900);
    double loss = 0.0;
    for (std::size_t i = 0; i < 90; ++i)
        loss -= std::log(said[i * 10 + static_cast<std::size_t>(
                                           unseen.label(static_cast<std::int64_t>(i)))]) /
                90.0;
    CHECK(loss == doctest::Approx(whole.log_loss).epsilon(1e-5));
    // What it says are probabilities: of itself it has no churn.
    CHECK(churn_between(said, both.predict(unseen), 10).difference < 1e-6);
}

TEST_CASE("a sequence has a distribution, a loss and an answer at each position") {
    const data::text_set text("abracadabra, abracadabra, abracadabra!", {.length = 5});
    models::character_lstm model{text.vocabulary().size(),
                                 {.width = 3, .hidden = 4, .layers = 1, .length = 5}};
    const floats first = model_test::starting_values(model, 1),
                 second = model_test::starting_values(model, 2);
    ensemble one{model, {{first, {}}}}, other{model, {{second, {}}}},
        both{model, {{first, {}}, {second, {}}}};
    std::vector<std::int64_t> all(static_cast<std::size_t>(text.size()));
    std::iota(all.begin(), all.end(), 0);
    data::labelled_batch batch;
    text.gather(all, batch);
    const detail::ensemble_scores found = one.evaluate(text, 2);
    CHECK(found.labels == 5 * text.size());
    CHECK(found.log_loss ==
          doctest::Approx(model.loss().value(model.predict(first, batch), batch.labels()))
              .epsilon(1e-6));
    CHECK(both.predict(text).size() == static_cast<std::size_t>(5 * text.size() * model.outputs()));
    CHECK(both.evaluate(text).log_loss < 0.5 * (found.log_loss + other.evaluate(text).log_loss));
}

TEST_CASE("a label that is as good as impossible has a finite loss") {
    models::mlp model{1, 2};
    ensemble both{model, {{{0.0f, 0.0f, 500.0f, 0.0f}, {}}, {{0.0f, 0.0f, 300.0f, 0.0f}, {}}}};
    data::labelled_batch batch(1, 1);
    batch.inputs()[0] = 0.0f;
    batch.labels()[0] = 1;
    CHECK(both.predict(batch)[1] == 0.0f);
    CHECK(both.evaluate(batch).log_loss == doctest::Approx(300.0 + std::log(2.0)));
}

TEST_CASE(
    "no memory is taken once the largest batch was seen, and of no labels there is no score") {
    models::mlp model{20, 8, 5};
    ensemble both{
        model,
        {{model_test::starting_values(model, 1), {}}, {model_test::starting_values(model, 2), {}}}};
    const auto large = model_test::random_batch(40, 20, 5),
               small = model_test::random_batch(3, 20, 5);
    both.evaluate(large);
    const support::allocation_count allocations;
    both.evaluate(small);
    both.predict(large);
    CHECK(allocations.on_this_thread() == 0);
    const detail::ensemble_scores none = both.evaluate(data::labelled_batch{});
    CHECK(none.log_loss == 0.0);
    CHECK(std::isnan(none.accuracy));
    CHECK(none.labels == 0);
}

TEST_CASE("ensembles that cannot be are refused") {
    models::mlp model{20, 8, 5};
    const floats parameters = model_test::starting_values(model);
    CHECK_THROWS_WITH_AS((ensemble{model, {}}),
                         "ensemble: there are no members; expected at least 1", invalid_option);
    CHECK_THROWS_WITH_AS((ensemble{model, {{parameters, {}}, {floats(7), {}}}}),
                         "ensemble: member 1 has 7 parameters; expected 213, as the model has",
                         invalid_option);
    CHECK_THROWS_WITH_AS((ensemble{model, {{parameters, floats(2)}}}),
                         "ensemble: member 0 has 2 buffers; expected 0, as the model has",
                         invalid_option);
    ensemble one{model, {{parameters, {}}}};
    auto batch = model_test::random_batch(3, 20, 5);
    batch.labels()[1] = 5;
    CHECK_THROWS_WITH_AS(
        one.evaluate(batch),
        "ensemble: example 1 has label 5; expected 0 to 5 exclusive, the number of outputs",
        invalid_option);
    CHECK(one.predict(batch).size() == 15);  // labels are not asked for
    CHECK_THROWS_AS(one.evaluate(data::digits(3, random_stream{1}), 0), invalid_option);
}
