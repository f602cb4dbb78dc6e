#include "sotto/strategies/detail/codistillation/teacher_pool.hpp"

#include <doctest/doctest.h>

#include <array>
#include <cmath>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "sotto/checkpoint/detail/published_model.hpp"
#include "sotto/core/errors.hpp"
#include "sotto/strategies/detail/codistillation/label_knowledge.hpp"

using namespace sotto;
using detail::teacher_pool;
using detail::checkpoint::published_model;

namespace {

constexpr std::array everybody{0, 1, 3};

published_model model_of(std::int64_t step, std::vector<float> parameters = {1.0f, 2.0f}) {
    published_model found;
    found.facts.step = step;
    found.parameters = std::move(parameters);
    return found;
}

// What a look finds: the newest of a group that is newer.
auto finds(std::int64_t newest) {
    return [newest](int, std::int64_t after) {
        return newest > after ? std::optional(model_of(newest)) : std::nullopt;
    };
}

// Of ten outputs.
detail::label_knowledge loss_of(double loss) {
    return {.loss = loss, .chance = std::log(10.0), .unsure = loss};
}

detail::left_out standing_of(const teacher_pool& desk) {
    return desk.standings().front().why;
}

}  // namespace

TEST_CASE("a teacher is absent until its first model, then listened to") {
    teacher_pool desk({3}, {});
    CHECK_FALSE(desk.renew(0, finds(-1)));
    desk.begin_interval(50, everybody);
    CHECK(standing_of(desk) == detail::left_out::absent);
    CHECK(desk.views().empty());
    CHECK_FALSE(desk.oldest(50));
    CHECK(desk.renew(0, finds(40)));
    desk.begin_interval(50, everybody);
    CHECK(standing_of(desk) == detail::left_out::no);
    REQUIRE(desk.views().size() == 1);
    CHECK(desk.views()[0].parameters[1] == 2.0f);
    CHECK(desk.oldest(57) == 17);
    CHECK(desk.oldest(30) == -10);  // it is ahead
    CHECK_FALSE(desk.renew(0, finds(40)));
    desk.begin_interval(100, everybody);
    CHECK(standing_of(desk) == detail::left_out::no);  // the one before is better than none
}

TEST_CASE("a teacher whose model is too old, or has no finite weights, is left out") {
    teacher_pool desk({0}, {.age_max = 100});
    desk.renew(0, finds(40));
    desk.begin_interval(140, everybody);
    CHECK(standing_of(desk) == detail::left_out::no);
    desk.begin_interval(141, everybody);
    CHECK(standing_of(desk) == detail::left_out::too_old);
    CHECK(desk.views().empty());
    for (const float bad : {std::nanf(""), std::numeric_limits<float>::infinity()}) {
        desk.take(0, model_of(150, {1.0f, bad}));
        desk.begin_interval(150, everybody);
        CHECK(standing_of(desk) == detail::left_out::not_finite);
    }
}

TEST_CASE("a model that is further ahead of the student than others may be behind is left out") {
    teacher_pool desk({0}, {.age_max = 100});
    desk.renew(0, finds(1450));
    desk.begin_interval(50, everybody);
    CHECK(standing_of(desk) == detail::left_out::too_far_ahead);
    CHECK(desk.views().empty());
    desk.begin_interval(1349, everybody);
    CHECK(standing_of(desk) == detail::left_out::too_far_ahead);
    desk.begin_interval(1350, everybody);
    CHECK(standing_of(desk) == detail::left_out::no);
    CHECK(desk.oldest(1350) == -100);
    teacher_pool of_any({0}, {.age_max = 0});
    of_any.renew(0, finds(1450));
    of_any.begin_interval(50, everybody);
    CHECK(standing_of(of_any) == detail::left_out::no);
}

TEST_CASE("what cannot be used leaves a teacher out until there is something else") {
    teacher_pool desk({0}, {});
    desk.renew(0, finds(40));
    const auto other = [](int, std::int64_t) -> std::optional<published_model> {
        throw mismatch("another kind");
    };
    const auto broken = [](int, std::int64_t) -> std::optional<published_model> {
        throw io_failure("no such disk");
    };
    CHECK_FALSE(desk.renew(0, other));
    desk.begin_interval(50, everybody);
    CHECK(standing_of(desk) == detail::left_out::other_architecture);
    CHECK(desk.standings()[0].details == "another kind");
    CHECK_FALSE(desk.renew(0, broken));
    desk.begin_interval(100, everybody);
    CHECK(standing_of(desk) == detail::left_out::unreadable);
    CHECK(desk.standings()[0].details == "no such disk");
    CHECK(desk.renew(0, finds(90)));
    desk.begin_interval(150, everybody);
    CHECK(standing_of(desk) == detail::left_out::no);
    CHECK(desk.standings()[0].details == "");
}

TEST_CASE("a teacher to whom data are dealt otherwise is left out, one who does not say is not") {
    teacher_pool desk({0}, {});
    desk.expect("odd ones");
    const auto dealt = [](std::int64_t step, std::string deal) {
        return [=](int, std::int64_t) {
            published_model found = model_of(step);
            found.facts.deal = deal;
            return std::optional(found);
        };
    };
    const auto why = [&](std::int64_t step, const std::string& deal) {
        desk.renew(0, dealt(step, deal));
        desk.begin_interval(step, everybody);
        return standing_of(desk);
    };
    CHECK(why(50, "even ones") == detail::left_out::other_deal);
    CHECK(desk.standings()[0].details == "'even ones'; expected 'odd ones'");
    CHECK(desk.views().empty());
    CHECK(why(50, "odd ones") == detail::left_out::no);
    CHECK(desk.standings()[0].details == "");
    CHECK(why(100, "") == detail::left_out::no);
    desk.expect("");
    CHECK(why(150, "even ones") == detail::left_out::no);
}

TEST_CASE("a teacher that is worse than its student by the margin is not heard in the interval") {
    teacher_pool desk({0, 1}, {.margin = 0.5});
    for (const std::size_t i : {0u, 1u}) desk.renew(i, finds(40));
    desk.begin_interval(50, everybody);
    CHECK(desk.judge(0, loss_of(100.0)));  // the student does not know itself yet
    desk.begin_interval(50, {});
    desk.begin_interval(50, everybody);
    for (int i = 0; i < 20; ++i) desk.student(1.0);
    CHECK(desk.student() == doctest::Approx(1.0));
    CHECK(desk.judge(0, loss_of(1.4)));
    CHECK_FALSE(desk.judge(1, loss_of(1.6)));
    CHECK_FALSE(desk.judge(1, loss_of(0.1)));  // for the rest of it
    CHECK(desk.standings()[0].why == detail::left_out::no);
    CHECK(desk.standings()[1].why == detail::left_out::worse);
    CHECK(desk.standings()[0].label_loss == doctest::Approx(1.4));
    REQUIRE(desk.leave_out());
    CHECK_FALSE(desk.leave_out());
    REQUIRE(desk.listened().size() == 1);
    CHECK(desk.listened()[0] == 0);
    CHECK(desk.views().size() == 1);
    CHECK_FALSE(desk.judge(0, loss_of(std::nan(""))));
    desk.begin_interval(100, everybody);
    CHECK(desk.judge(1, loss_of(0.1)));
    CHECK(desk.judge(0, loss_of(1.0)));
}

TEST_CASE("a teacher is compared on data that its student has not learnt from either") {
    teacher_pool desk({0}, {.margin = 0.5}, 1);
    const auto judging = [](std::int64_t step, double of_this_one) {
        return [=](int, std::int64_t) {
            published_model found = model_of(step);
            found.facts.judged = {{0, 9.0}, {1, of_this_one}};
            return std::optional(found);
        };
    };
    const auto begin = [&](std::int64_t step, double of_this_one) {
        desk.renew(0, judging(step, of_this_one));
        desk.begin_interval(step, everybody);
    };
    desk.student(0.1);  // by heart
    begin(1, std::nan(""));
    CHECK(std::isnan(desk.judged_by(0)));
    CHECK_FALSE(desk.judge(0, loss_of(0.7)));
    CHECK(desk.judged() == std::vector<detail::checkpoint::judgement>{{0, 0.7}});
    begin(2, 1.5);
    CHECK(desk.judged_by(0) == 1.5);
    CHECK(desk.judge(0, loss_of(1.9)));
    CHECK_FALSE(desk.judge(0, loss_of(7.0)));
    begin(3, 0.05);  // as it does on its own
    CHECK_FALSE(desk.judge(0, loss_of(0.7)));
    desk.student(0.1, true);
    for (int i = 0; i < 100; ++i) desk.student(1.0, true);  // in the first passes
    for (int i = 0; i < 100; ++i) desk.student(0.1);
    begin(4, std::nan(""));
    CHECK(desk.judge(0, loss_of(1.4)));
    CHECK_FALSE(desk.judge(0, loss_of(3.0)));
}

TEST_CASE("a group of other labels finds everybody wrong, and is not heard for saying so") {
    teacher_pool desk({1}, {}, 0);
    for (int i = 0; i < 50; ++i) desk.student(0.2);
    desk.renew(0, [](int, std::int64_t) {
        published_model found = model_of(40);
        found.facts.judged = {{0, 9.0}};  // of the student's model on its data
        return std::optional(found);
    });
    desk.begin_interval(50, everybody);
    CHECK_FALSE(desk.judge(0, {.loss = 9.0, .chance = std::log(10.0), .unsure = 4.5}));
    CHECK(standing_of(desk) == detail::left_out::worse);
}

TEST_CASE("who knows nothing is not heard, however little its student knew when it began") {
    teacher_pool desk({0}, {});
    desk.renew(0, finds(40));
    desk.begin_interval(50, everybody);
    for (int i = 0; i < 3; ++i) desk.student(2.2, true);  // few steps to a pass
    const detail::label_knowledge random{.loss = 2.5, .chance = std::log(10.0), .unsure = 2.35};
    CHECK(desk.judge(0, random));  // the student knows no more itself
    for (int i = 0; i < 40; ++i) desk.student(1.8);
    CHECK_FALSE(desk.judge(0, random));  // and is below 2.2 + 1
    CHECK(standing_of(desk) == detail::left_out::worse);
    desk.begin_interval(100, everybody);
    CHECK_FALSE(desk.judge(0, random));  // at once
    // Of who was heard one batch says little.
    desk.begin_interval(150, everybody);
    for (int i = 0; i < 20; ++i) CHECK(desk.judge(0, loss_of(2.1)));
    desk.begin_interval(200, everybody);
    CHECK(desk.judge(0, random));
    for (int i = 0; i < 20; ++i) desk.judge(0, random);
    CHECK(standing_of(desk) == detail::left_out::worse);
}

TEST_CASE("who has learnt wrong labels by heart is too sure, and yet knows something") {
    teacher_pool desk({0}, {.margin = 100.0});
    desk.renew(0, finds(40));
    desk.begin_interval(50, everybody);
    for (int i = 0; i < 40; ++i) desk.student(0.9);
    const detail::label_knowledge sure{.loss = 2.5, .chance = std::log(10.0), .unsure = 1.7};
    for (int i = 0; i < 20; ++i) CHECK(desk.judge(0, sure));
}

TEST_CASE("what a group claims now counts for more than how its student began") {
    teacher_pool desk({1}, {.margin = 0.5}, 0);
    for (int i = 0; i < 50; ++i) desk.student(2.2, true);
    for (int i = 0; i < 50; ++i) desk.student(0.1);
    const auto claiming = [](std::int64_t step, double loss) {
        return [=](int, std::int64_t) {
            published_model found = model_of(step);
            found.facts.judged = {{0, loss}};
            return std::optional(found);
        };
    };
    desk.renew(0, claiming(40, 0.3));
    desk.begin_interval(50, everybody);
    CHECK_FALSE(desk.judge(0, loss_of(1.5)));
    desk.renew(0, claiming(90, std::nan("")));
    desk.begin_interval(100, everybody);
    CHECK(desk.judge(0, loss_of(1.5)));
}

TEST_CASE("the newest of some twenty losses count") {
    detail::recent_mean mean;
    CHECK(mean.empty());
    CHECK(std::isnan(mean.value()));
    mean.add(4.0);
    CHECK(mean.value() == doctest::Approx(4.0));
    for (int i = 0; i < 60; ++i) mean.add(1.0);
    CHECK(mean.value() == doctest::Approx(1.0).epsilon(0.01));
    mean.forget();
    CHECK(mean.empty());
}

TEST_CASE("rules that cannot be are refused by name") {
    CHECK_THROWS_WITH_AS((teacher_pool{{0}, {.age_max = -2}}),
                         "teacher_rules: age_max is -2; it must be at least -1", invalid_option);
    CHECK(detail::teacher_rules{}.of_exchanges(50, false).age_max == 1000);
    CHECK(detail::teacher_rules{}.of_exchanges(50, true).age_max == 0);
    CHECK(detail::teacher_rules{.age_max = 7}.of_exchanges(50, false).age_max == 7);
    CHECK(detail::teacher_rules{.age_max = 0}.of_exchanges(50, false).age_max == 0);
    CHECK(detail::teacher_rules{}.of_exchanges(INT64_MAX / 2, false).age_max == 0);
    CHECK_THROWS_AS((teacher_pool{{0}, {.margin = std::nan("")}}), invalid_option);
}
