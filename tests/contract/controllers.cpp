// What every controller of how far ranks are apart promises, whatever it aims at.

#include <doctest/doctest.h>

#include <cmath>
#include <cstdint>
#include <limits>
#include <type_traits>
#include <vector>

#include "sotto/strategies/gossip/control/consensus_controller.hpp"
#include "sotto/core/random.hpp"
#include "support/all_gossip_policies.hpp"
#include "support/allocation_count.hpp"

using namespace sotto;

namespace {

constexpr int rounds_bound = 300;  // above every rounds_max of the sensible options

template <class Control>
auto bound() {
    return testing::sensible<Control>::options().bind();
}

/// Of the first round of a step.
consensus_reading reading_of(std::int64_t step, double distance, double lambda = 0.9) {
    return {.where = {.step = step, .epoch = 0.25 * static_cast<double>(step), .world_size = 8},
            .learning_rate = 0.1,
            .gradient_norm = 1.0,
            .rounds = 1,
            .distance = distance,
            .second_singular_value = lambda};
}

/// Rounds of a step in which each leaves `lambda` of the distance, as many as are wanted.
template <class State>
int rounds_of(State& control, consensus_reading now, double lambda) {
    if (!detail::controlling::wants_one(control, now.where, now.learning_rate)) return 0;
    for (; now.rounds < 2 * rounds_bound && control.wants_another(now); ++now.rounds)
        now.distance *= lambda;
    return now.rounds;
}

template <class Control>
inline constexpr bool is_fixed =
    std::is_same_v<Control, no_control> || std::is_same_v<Control, fixed_rounds> ||
    std::is_same_v<Control, exact_mean>;

}  // namespace

TEST_CASE_TEMPLATE_DEFINE("rounds end, whatever becomes of the distance", C, ends) {
    static_assert(consensus_controller<C>);
    constexpr double infinity = std::numeric_limits<double>::infinity(),
                     nan = std::numeric_limits<double>::quiet_NaN();
    auto control = bound<C>();
    std::int64_t step = 0;
    for (const double lambda : {1.0, 1.5, 0.5, 0.0})
        for (const double known : {0.9, 1.0, 0.0, nan})
            for (const double distance : {0.0, 1e-9, 1.0, 1e9, infinity, nan})
                for (const std::int64_t period : {0, 1, 3, 1000}) {
                    CAPTURE(lambda);
                    CAPTURE(known);
                    CAPTURE(distance);
                    CAPTURE(period);
                    consensus_reading now = reading_of(step++, distance, known);
                    now.period = period;
                    CHECK(rounds_of(control, now, lambda) <= rounds_bound);
                }
}
TEST_CASE_TEMPLATE_APPLY(ends, testing::every_controller);

TEST_CASE_TEMPLATE_DEFINE("ranks that are told the same do the same", C, agrees) {
    auto one = bound<C>(), other = bound<C>();
    random_stream random(3);
    for (std::int64_t step = 0; step < 200; ++step) {
        consensus_reading now = reading_of(step, std::abs(random.normal()));
        now.gradient_norm = std::abs(random.normal());
        CHECK(one.needs(now.where) == other.needs(now.where));
        const bool wants = detail::controlling::wants_one(one, now.where, now.learning_rate);
        CHECK(wants == detail::controlling::wants_one(other, now.where, now.learning_rate));
        for (bool more = wants; more; ++now.rounds) {
            more = one.wants_another(now);
            CHECK(more == other.wants_another(now));
            const double target = detail::controlling::target(one, now);
            const double same = detail::controlling::target(other, now);
            CHECK((target == same || (std::isnan(target) && std::isnan(same))));
            now.distance *= 0.8;
        }
    }
}
TEST_CASE_TEMPLATE_APPLY(agrees, testing::every_controller);

TEST_CASE_TEMPLATE_DEFINE("distances are asked for, exact or estimated, as the options say", C,
                          says_what_it_needs) {
    auto control = bound<C>();
    bool exact = false, estimated = false;
    for (std::int64_t step = 0; step < 20; ++step) {
        const auto where = reading_of(step, 1.0).where;
        const consensus_reading::measure needed = control.needs(where);
        exact |= needed == consensus_reading::measure::exact;
        estimated |= needed == consensus_reading::measure::estimate;
        rounds_of(control, reading_of(step, 1.0), 0.5);
        CHECK(control.needs(where) == needed);  // of a step, not of a round
    }
    CHECK(exact == detail::controlling::measures_exactly<C>);
    CHECK(estimated == detail::controlling::estimates<C>);
}
TEST_CASE_TEMPLATE_APPLY(says_what_it_needs, testing::every_controller);

TEST_CASE_TEMPLATE_DEFINE("exact means are asked for by those alone that say so", C,
                          says_whether_it_takes_means) {
    const auto control = bound<C>();
    bool means = false;
    for (std::int64_t step = 0; step < 20; ++step)
        means |= detail::controlling::wants_mean(control, reading_of(step, 1.0).where);
    CHECK(means == detail::controlling::takes_means<C>);
}
TEST_CASE_TEMPLATE_APPLY(says_whether_it_takes_means, testing::every_controller);

TEST_CASE_TEMPLATE_DEFINE("a distance below the target is near enough, and one above it is not", C,
                          keeps_its_target) {
    if constexpr (!is_fixed<C>) {
        std::int64_t controlled = 0;
        for (std::int64_t step = 0; step < 20; ++step) {
            auto control = bound<C>();
            consensus_reading now = reading_of(step, 1e3);
            if (control.needs(now.where) == consensus_reading::measure::nothing) continue;
            ++controlled;
            REQUIRE(detail::controlling::wants_one(control, now.where, now.learning_rate));
            CHECK(control.wants_another(now));
            const double target = detail::controlling::target(control, now);
            CHECK(target > 0.0);
            CHECK(std::isfinite(target));
            now.rounds = 2;
            now.distance = 1.01 * target;
            CHECK(control.wants_another(now));
            now.rounds = 3;
            now.distance = 0.99 * target;
            CHECK_FALSE(control.wants_another(now));
        }
        CHECK(controlled > 0);
    }
}
TEST_CASE_TEMPLATE_APPLY(keeps_its_target, testing::every_controller);

TEST_CASE_TEMPLATE_DEFINE("the target that is told is what decides, before and after it has", C,
                          tells_what_decides) {
    auto control = bound<C>();
    random_stream random(4);
    for (std::int64_t step = 0; step < 40; ++step) {
        consensus_reading now = reading_of(step, 1e3);
        now.gradient_norm = 0.5 + std::abs(random.normal());
        for (; now.rounds <= 3; ++now.rounds) {
            const double before = detail::controlling::target(control, now);
            const bool more = control.wants_another(now);
            const double after = detail::controlling::target(control, now);
            CHECK((before == after || (std::isnan(before) && std::isnan(after))));
            if (!is_fixed<C> && std::isfinite(before)) CHECK(more == (now.distance > before));
            now.distance = now.rounds == 1 ? 1.01 * before : 0.99 * before;
        }
    }
}
TEST_CASE_TEMPLATE_APPLY(tells_what_decides, testing::every_controller);

TEST_CASE_TEMPLATE_DEFINE("what was not found is not near, but after an exact mean none is wanted",
                          C, knows_what_it_does_not_know) {
    constexpr double nan = std::numeric_limits<double>::quiet_NaN();
    if constexpr (!is_fixed<C>)
        for (std::int64_t step = 0; step < 20; ++step) {
            auto control = bound<C>();
            consensus_reading now = reading_of(step, nan);
            if (control.needs(now.where) == consensus_reading::measure::nothing) continue;
            CHECK(control.wants_another(now));
            CHECK(detail::controlling::wants_one(control, reading_of(step + 1, nan).where, 0.1));
            now.is_mean = true;
            CHECK_FALSE(control.wants_another(now));
            CHECK(detail::controlling::wants_one(control, reading_of(step + 1, nan).where, 0.1));
        }
}
TEST_CASE_TEMPLATE_APPLY(knows_what_it_does_not_know, testing::every_controller);

TEST_CASE_TEMPLATE_DEFINE("what is found late counts as if it had been found at once", C,
                          judges_what_is_known) {
    constexpr double nan = std::numeric_limits<double>::quiet_NaN();
    if constexpr (!is_fixed<C>)
        for (std::int64_t step = 0; step < 20; ++step) {
            auto at_once = bound<C>(), late = bound<C>();
            consensus_reading now = reading_of(step, nan);
            if (at_once.needs(now.where) == consensus_reading::measure::nothing) continue;
            const double far = 100.0 * detail::controlling::target(at_once, now);
            const int rounds = rounds_of(at_once, reading_of(step, far), 0.9);
            CHECK(rounds > 5);
            CHECK(late.wants_another(now));
            now.rounds = 2;
            now.distance = far;
            CHECK(rounds_of(late, now, 0.9) == rounds + 1);
        }
}
TEST_CASE_TEMPLATE_APPLY(judges_what_is_known, testing::every_controller);

TEST_CASE_TEMPLATE_DEFINE("ranks that are further apart get no fewer rounds", C, is_monotonic) {
    for (const std::int64_t step : {0, 3, 5, 12}) {
        int last = 0;
        for (double distance = 1e-6; distance < 1e6; distance *= 3.0) {
            auto control = bound<C>();
            const int rounds = rounds_of(control, reading_of(step, distance, 0.5), 0.5);
            CHECK(rounds >= last);
            CHECK(rounds >= 1);
            last = rounds;
        }
    }
}
TEST_CASE_TEMPLATE_APPLY(is_monotonic, testing::every_controller);

TEST_CASE_TEMPLATE_DEFINE("to decide takes no memory", C, takes_no_memory) {
    if (!support::allocation_count::works) {
        MESSAGE("skipped: allocations are not counted under sanitizers");
        return;
    }
    auto control = bound<C>();
    const support::allocation_count count;
    int rounds = 0;
    for (std::int64_t step = 0; step < 100; ++step)
        rounds += rounds_of(control, reading_of(step, 1.0), 0.7);
    CHECK(count.on_this_thread() == 0);
    CHECK(rounds > 0);
}
TEST_CASE_TEMPLATE_APPLY(takes_no_memory, testing::every_controller);
