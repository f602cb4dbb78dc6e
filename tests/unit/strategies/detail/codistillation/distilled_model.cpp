#include "sotto/strategies/detail/codistillation/distilled_model.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "sotto/core/random.hpp"
#include "sotto/data/labelled_batch.hpp"
#include "sotto/distillation/forward_kl.hpp"
#include "sotto/distillation/soft_cross_entropy.hpp"
#include "sotto/models/character_lstm.hpp"
#include "sotto/models/mlp.hpp"
#include "sotto/models/detail/predict_with.hpp"
#include "sotto/models/sequential.hpp"
#include "sotto/nn/batch_norm.hpp"
#include "sotto/nn/chain.hpp"
#include "sotto/nn/dense.hpp"

using namespace sotto;

static_assert(gradient_source<detail::distilled_model<models::mlp<>, forward_kl>>);

namespace {

const auto ignore = [](const tensor&) {};

data::labelled_batch batch_of(std::int64_t examples, std::int64_t width, std::int64_t outputs) {
    random_stream random{5};
    data::labelled_batch batch(examples, width);
    for (float& value : batch.inputs()) value = random.uniform(-1.0f, 1.0f);
    for (std::int32_t& label : batch.labels())
        label = static_cast<std::int32_t>(random.below(static_cast<std::uint64_t>(outputs)));
    return batch;
}

template <class Model>
std::vector<float> start_of(const Model& model, std::uint64_t seed) {
    std::vector<float> parameters(static_cast<std::size_t>(model.layout().size()));
    model.initialise(parameters, random_stream{seed});
    return parameters;
}

}  // namespace

TEST_CASE("without teachers, or with weight 0, it is the model's own gradient to the last bit") {
    models::mlp model{6, 8, 4};
    const auto batch = batch_of(12, 6, 4);
    const auto parameters = start_of(model, 1), other = start_of(model, 2);
    std::vector<float> plain(parameters.size());
    const double loss = model.gradient(parameters, batch, plain, ignore);
    const std::vector<detail::teacher_view> one{{other, {}}};
    detail::lesson_memory memory;
    const forward_kl kl;
    for (const auto& [teachers, weight] : {std::pair(std::span<const detail::teacher_view>(), 1.0),
                                           std::pair(std::span(one), 0.0)}) {
        detail::distilled_model lessons(model, kl, teachers, weight, memory);
        std::vector<float> gradient(parameters.size());
        CHECK(lessons.gradient(parameters, batch, gradient, ignore) == loss);
        CHECK(gradient == plain);
        CHECK(lessons.had().label_loss == loss);
        CHECK(lessons.had().heard == 0);
    }
}

TEST_CASE("who is not heard changes nothing; the others count alike") {
    models::mlp model{6, 8, 4};
    const auto batch = batch_of(12, 6, 4);
    const auto parameters = start_of(model, 1), first = start_of(model, 2),
               second = start_of(model, 3);
    const std::vector<detail::teacher_view> both{{first, {}}, {second, {}}}, one{{second, {}}};
    detail::lesson_memory memory;
    const forward_kl kl;
    const auto gradient_by = [&](std::span<const detail::teacher_view> teachers, auto judge) {
        detail::distilled_model lessons(model, kl, teachers, 1.0, memory, judge);
        std::vector<float> gradient(parameters.size());
        lessons.gradient(parameters, batch, gradient, ignore);
        return gradient;
    };
    std::vector<float> plain(parameters.size());
    model.gradient(parameters, batch, plain, ignore);
    std::vector<double> losses;
    CHECK(gradient_by(both, [&](std::size_t, const detail::label_knowledge& found) {
              losses.push_back(found.loss);
              CHECK(found.chance == doctest::Approx(std::log(4.0)));
              return false;
          }) == plain);
    const auto said = model.predict(first, batch);
    REQUIRE(losses.size() == 2);
    CHECK(losses[0] == model.loss().value(said, batch.labels()));
    CHECK(gradient_by(both, [](std::size_t i, const auto&) { return i == 1; }) ==
          gradient_by(one, detail::hear_all{}));
    CHECK(gradient_by(both, detail::hear_all{}) != gradient_by(one, detail::hear_all{}));
}

TEST_CASE("a teacher that is the student changes nothing, to the last bit") {
    models::mlp model{6, 8, 4};
    const auto batch = batch_of(12, 6, 4);
    const auto parameters = start_of(model, 1);
    std::vector<float> plain(parameters.size()), gradient(parameters.size());
    const double loss = model.gradient(parameters, batch, plain, ignore);
    const std::vector<detail::teacher_view> itself{{parameters, {}}};
    detail::lesson_memory memory;
    const soft_cross_entropy loss_of_teachers;
    detail::distilled_model lessons(model, loss_of_teachers, std::span(itself), 10.0, memory);
    CHECK(lessons.gradient(parameters, batch, gradient, ignore) == loss);
    CHECK(gradient == plain);
    CHECK(lessons.had().agreement == 1.0);
    CHECK(lessons.had().distillation_loss > 0.1);  // the entropy of what both say
}

TEST_CASE("the gradient is the slope of both losses, with the teachers held") {
    models::mlp model{5, 6, 3};
    const auto batch = batch_of(7, 5, 3);
    auto parameters = start_of(model, 1);
    const auto first = start_of(model, 2), second = start_of(model, 3);
    const std::vector<detail::teacher_view> teachers{{first, {}}, {second, {}}};
    const forward_kl kl{.temperature = 2.0};
    constexpr double weight = 0.7;
    detail::lesson_memory memory;
    detail::distilled_model lessons(model, kl, std::span(teachers), weight, memory);
    std::vector<float> gradient(parameters.size()), scratch(parameters.size());
    lessons.gradient(parameters, batch, gradient, ignore);
    const auto value = [&] {
        lessons.gradient(parameters, batch, scratch, ignore);
        return lessons.had().label_loss + weight * lessons.had().distillation_loss;
    };
    for (std::size_t i = 0; i < parameters.size(); i += 3) {
        const float at = parameters[i];
        parameters[i] = at + 0.0078125f;
        const double up = value();
        parameters[i] = at - 0.0078125f;
        const double down = value();
        parameters[i] = at;
        CHECK(double{gradient[i]} ==
              doctest::Approx((up - down) / 0.015625).epsilon(0.01).scale(0.02));
    }
}

TEST_CASE("a teacher speaks with its own running statistics, and leaves the student's alone") {
    models::sequential model{nn::shape{4, 1, 1},
                             nn::chain{nn::dense{6}, nn::batch_norm{}, nn::dense{3}}};
    const auto batch = batch_of(16, 4, 3);
    const auto parameters = start_of(model, 1), other = start_of(model, 2);
    std::vector<float> gradient(parameters.size());
    // The teacher has learnt statistics of its own.
    std::vector<float> student(model.buffers().begin(), model.buffers().end());
    for (int i = 0; i < 5; ++i) model.gradient(other, batch, gradient, ignore);
    const std::vector<float> learnt(model.buffers().begin(), model.buffers().end());
    REQUIRE(learnt != student);
    const auto said = model.predict(other, batch);
    const std::vector<float> expected(said.begin(), said.end());
    std::ranges::copy(student, model.buffers().begin());

    const auto heard = detail::predict_with(model, other, learnt, batch);
    CHECK(std::ranges::equal(heard, expected));
    CHECK(std::ranges::equal(model.buffers(), student));
}

TEST_CASE("no gradient reaches a teacher: its parameters, buffers and targets stay as they are") {
    models::sequential model{nn::shape{4, 1, 1},
                             nn::chain{nn::dense{6}, nn::batch_norm{}, nn::dense{3}}};
    const auto batch = batch_of(16, 4, 3);
    const auto parameters = start_of(model, 1), first = start_of(model, 2),
               second = start_of(model, 3);
    const std::vector<float> kept(model.buffers().begin(), model.buffers().end());
    auto a = first, b = second, kept_a = kept, kept_b = kept;
    for (float& value : kept_b) value += 0.25f;
    const auto other = kept_b;
    const std::vector<detail::teacher_view> both{{a, kept_a}, {b, kept_b}};
    const forward_kl kl;
    std::vector<float> expected(16 * 3);
    for (const detail::teacher_view& teacher : both)
        kl.add(detail::predict_with(model, teacher.parameters, teacher.buffers, batch), 3, 1.0,
               expected);
    for (float& target : expected) target /= 2.0f;
    detail::lesson_memory memory;
    detail::distilled_model lessons(model, kl, std::span(both), 1.0, memory);
    std::vector<float> gradient(parameters.size());
    lessons.gradient(parameters, batch, gradient, ignore);
    CHECK(lessons.had().heard == 2);
    CHECK(std::ranges::equal(memory.targets, expected));
    CHECK(a == first);
    CHECK(b == second);
    CHECK(kept_a == kept);
    CHECK(kept_b == other);
}

TEST_CASE("of a sequence each position has a distribution of its own to learn") {
    constexpr std::int64_t length = 5, vocabulary = 4;
    constexpr double weight = 0.5, temperature = 2.0;
    models::character_lstm model{vocabulary,
                                 {.width = 3, .hidden = 6, .layers = 1, .length = length}};
    data::labelled_batch batch;
    batch.resize(3, length, length);
    random_stream random{5};
    const auto character = [&] { return static_cast<std::int32_t>(random.below(4)); };
    for (float& value : batch.inputs()) value = static_cast<float>(character());
    for (std::int32_t& label : batch.labels()) label = character();
    const auto parameters = start_of(model, 1), first = start_of(model, 2),
               second = start_of(model, 3);
    const std::vector<detail::teacher_view> both{{first, {}}, {second, {}}};

    // One position after the other, by the definitions.
    std::vector<std::vector<float>> said;
    for (const detail::teacher_view& teacher : both) {
        const auto logits = model.predict(teacher.parameters, batch);
        said.emplace_back(logits.begin(), logits.end());
    }
    const auto softmax = [&](std::span<const float> row, double t) {
        std::vector<double> p;
        double sum = 0.0;
        for (const float z : row) sum += p.emplace_back(std::exp(double{z} / t));
        for (double& each : p) each /= sum;
        return p;
    };
    const auto logits = model.forward(parameters, batch);
    constexpr std::size_t positions = 3 * length, outputs = vocabulary;
    REQUIRE(logits.size() == positions * outputs);
    std::vector<float> slopes(logits.size());
    double divergence = 0.0;
    for (std::size_t at = 0; at < positions; ++at) {
        const auto row_of = [&](std::span<const float> all) {
            return all.subspan(at * outputs, outputs);
        };
        const auto p = softmax(row_of(logits), 1.0), soft = softmax(row_of(logits), temperature),
                   q_a = softmax(row_of(said[0]), temperature),
                   q_b = softmax(row_of(said[1]), temperature);
        for (std::size_t j = 0; j < outputs; ++j) {
            const double q = 0.5 * (q_a[j] + q_b[j]);
            const double y = static_cast<std::size_t>(batch.labels()[at]) == j ? 1.0 : 0.0;
            slopes[at * outputs + j] =
                static_cast<float>((p[j] - y + weight * temperature * (soft[j] - q)) / positions);
            divergence += temperature * temperature * q * std::log(q / soft[j]) / positions;
        }
    }
    std::vector<float> expected(parameters.size()), gradient(parameters.size());
    model.backward(parameters, batch, slopes, expected, ignore);

    detail::lesson_memory memory;
    const forward_kl kl{.temperature = temperature};
    detail::distilled_model lessons(model, kl, std::span(both), weight, memory);
    lessons.gradient(parameters, batch, gradient, ignore);
    CHECK(lessons.had().distillation_loss == doctest::Approx(divergence).epsilon(1e-5));
    CHECK(divergence > 1e-3);
    double apart = 0.0, most = 0.0;
    for (std::size_t i = 0; i < gradient.size(); ++i) {
        apart = std::max(apart, std::abs(double{gradient[i]} - double{expected[i]}));
        most = std::max(most, std::abs(double{expected[i]}));
    }
    CHECK(most > 1e-3);
    CHECK(apart < 1e-5 * most);
}

TEST_CASE("teachers are asked of the next batch while this one's gradients travel") {
    struct pass_counter {
        int* announced;
        std::vector<std::pair<int, std::size_t>>* passes;
        time_point now() const { return {}; }
        void passed(std::size_t count) const { passes->push_back({*announced, count}); }
    };
    models::mlp model{6, 8, 4};
    const auto first = batch_of(12, 6, 4), second = batch_of(7, 6, 4);
    const auto parameters = start_of(model, 1), a = start_of(model, 2), b = start_of(model, 3);
    const std::vector<detail::teacher_view> both{{a, {}}, {b, {}}};
    const forward_kl kl;
    detail::lesson_memory memory, other;
    int announced = 0;
    std::vector<std::pair<int, std::size_t>> passes;
    const auto step = [&](std::int64_t number, const data::labelled_batch& batch,
                          const data::labelled_batch* next) {
        detail::distilled_model lessons(model, kl, std::span(both), 1.0, memory, detail::hear_all{},
                                        pass_counter{&announced, &passes});
        lessons.look_ahead(number, next);
        std::vector<float> gradient(parameters.size());
        announced = 0;
        lessons.gradient(parameters, batch, gradient, [&](const tensor&) { ++announced; });
        int advanced = 0;
        announced = -1;
        lessons.meanwhile([&] { ++advanced; });
        CHECK(advanced == (next ? 2 : 0));  // after each teacher
        detail::distilled_model plain(model, kl, std::span(both), 1.0, other);
        std::vector<float> expected(parameters.size());
        plain.gradient(parameters, batch, expected, ignore);
        CHECK(gradient == expected);
    };
    using asked = std::vector<std::pair<int, std::size_t>>;
    step(3, first, &second);
    CHECK(passes == asked{{0, 2}, {-1, 2}});  // of this one before, of the next in the meantime
    step(4, second, &first);
    CHECK(passes == asked{{0, 2}, {-1, 2}, {-1, 2}});
    step(6, first, nullptr);  // not the one that was looked at
    CHECK(passes == asked{{0, 2}, {-1, 2}, {-1, 2}, {0, 2}});
}

TEST_CASE("agreement is the part of rows whose largest entry is in the same place") {
    const std::vector<float> a{1, 0, 0, 0, 2, 0, 0, 0, 3}, b{5, 1, 1, 9, 2, 1, 0, 1, 2};
    CHECK(detail::agreement(a, b, 3) == doctest::Approx(2.0 / 3.0));
    CHECK(detail::agreement({}, {}, 3) == 0.0);
}
