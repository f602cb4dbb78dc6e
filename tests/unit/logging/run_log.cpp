#include "sotto/logging/run_log.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

#include "support/allocation_count.hpp"

using namespace sotto;

namespace {

run_log::start two_tensors(std::int64_t steps_before = 0) {
    return {.world_size = 4,
            .steps_before = steps_before,
            .tensors = {{.name = "w", .shape = {3, 4}, .size = 12},
                        {.name = "b", .shape = {4}, .size = 4}}};
}

run_log::step step_of(std::int64_t number, double loss = 1.0) {
    return {.number = number,
            .seconds = 0.5 * static_cast<double>(number),
            .loss = loss,
            .costs = {.examples = 8,
                      .compute = 0.25,
                      .dense_bytes = 64,
                      .message_bytes = 16,
                      .bytes_sent = 48}};
}

}  // namespace

TEST_CASE("however many steps, there is a bounded number of points that lose no sum") {
    run_log log;
    log.begin(two_tensors());
    constexpr std::int64_t steps = 100'000;
    double losses = 0.0;
    for (std::int64_t s = 1; s <= steps; ++s) {
        const double loss = static_cast<double>((s * 7919) % 1000);
        losses += loss;
        log.add(step_of(s, loss));
    }
    CHECK(log.points.size() <= run_log::points_max);
    CHECK(log.points.size() > run_log::points_max / 4);
    CHECK(log.steps == steps);
    std::int64_t next = 1, counted = 0;
    double sum = 0.0, message = 0.0, least = 1e9, most = -1e9;
    for (const detail::run_point& p : log.points) {
        CHECK(p.first_step == next);
        next = p.last_step + 1;
        counted += p.losses;
        sum += p.loss_sum;
        message += p.message_bytes;
        least = std::min(least, p.loss_min);
        most = std::max(most, p.loss_max);
        CHECK(p.bytes_sent == 48.0 * static_cast<double>(p.last_step));
    }
    CHECK(next == steps + 1);
    CHECK(counted == steps);
    CHECK(sum == losses);
    CHECK(message == 16.0 * steps);
    CHECK(least == 0.0);
    CHECK(most == 999.0);
}

TEST_CASE("a step takes no memory") {
    if (!support::allocation_count::works) {
        MESSAGE("skipped: allocations are not counted under sanitizers");
        return;
    }
    run_log log;
    log.reserve();
    log.begin(two_tensors());
    const std::array<std::int64_t, 2> bytes{12, 4};
    const support::allocation_count count;
    for (std::int64_t s = 1; s <= 3 * static_cast<std::int64_t>(run_log::points_max); ++s) {
        run_log::step step = step_of(s);
        step.tensor_message_bytes = bytes;
        log.add(step);
    }
    CHECK(count.on_this_thread() == 0);
}

TEST_CASE("a step of a thinned log stands for those before it, until its epoch tells better") {
    run_log log;
    log.begin(two_tensors());
    log.add(step_of(4));
    log.add(step_of(8));
    CHECK(log.steps == 8);
    CHECK(log.total.bytes_sent == 8 * 48);
    log.add(run_log::finished_epoch{
        .epoch = 1, .step = 10, .seconds = 5.0, .costs = {.bytes_sent = 500}});
    CHECK(log.steps == 10);
    CHECK(log.total.bytes_sent == 500);
    CHECK(log.epochs[0].bytes_sent == 500);
    CHECK(log.epochs[0].steps == 10);
    log.add(step_of(12));
    CHECK(log.total.bytes_sent == 500 + 2 * 48);
}

TEST_CASE("a run that is taken up again at an earlier step pays for those steps twice") {
    run_log log;
    log.begin(two_tensors());
    for (std::int64_t s = 1; s <= 10; ++s) log.add(step_of(s));
    CHECK_FALSE(log.ended);
    log.begin(two_tensors(6));
    for (std::int64_t s = 7; s <= 8; ++s) {
        run_log::step again = step_of(s);
        again.seconds = 0.5 * static_cast<double>(s - 6);
        log.add(again);
    }
    log.add(run_log::finished_epoch{
        .epoch = 1, .step = 8, .seconds = 1.0, .costs = {.examples = 16, .bytes_sent = 96}});
    log.end(1.25, false);
    CHECK(log.ended);
    CHECK(log.fits == 2);
    CHECK(log.steps == 12);
    CHECK(log.last_step == 8);
    CHECK(log.total.bytes_sent == 12 * 48);
    CHECK(log.seconds == 5.0 + 1.25);
    CHECK(log.points.front().part == 0);
    CHECK(log.points.back().part == 1);
    CHECK(log.points[10].seconds == 5.5);
    CHECK(log.epochs[0].steps == 2);
}

TEST_CASE("points are merged even where every step belongs to another part") {
    run_log log;
    for (std::int64_t s = 0; s < static_cast<std::int64_t>(run_log::points_max) + 10; ++s) {
        log.begin(two_tensors(0));
        log.add(step_of(1));
    }
    CHECK(log.points.size() <= run_log::points_max);
    CHECK(log.steps == static_cast<std::int64_t>(run_log::points_max) + 10);
}

TEST_CASE("the steady state is the last complete epoch; tensors' bytes are its mean") {
    run_log log;
    log.begin(two_tensors());
    const std::array<std::int64_t, 2> before{48, 16}, after{6, 16}, less{2, 16};
    for (std::int64_t s = 1; s <= 4; ++s) {
        run_log::step step = step_of(s);
        step.epoch = s <= 2 ? 0.5 * static_cast<double>(s - 1) : 1.0;
        step.tensor_message_bytes = s <= 2 ? before : s == 3 ? after : less;
        log.add(step);
        if (s == 2)
            log.add(run_log::finished_epoch{
                .epoch = 1, .step = 2, .seconds = 1.0, .costs = {.compute = 3.0}});
    }
    CHECK(log.steady().first.compute == 3.0);
    CHECK(log.steady().second == 2);
    CHECK(log.about.tensors[0].message_bytes == 4.0);
    CHECK(log.about.tensors[1].message_bytes == 16.0);
    CHECK(log.tensor_steps == 2);
    log.add(run_log::finished_epoch{
        .epoch = 2, .step = 4, .complete = false, .seconds = 2.0, .costs = {.compute = 9.0}});
    CHECK(log.steady().first.compute == 3.0);  // an epoch that ended in the middle is not one
}

TEST_CASE("losses that are no numbers leave the others as they are") {
    run_log log;
    log.begin(two_tensors());
    log.add(step_of(1, std::numeric_limits<double>::quiet_NaN()));
    log.add(step_of(2, std::numeric_limits<double>::infinity()));
    log.add(step_of(3, 2.0));
    CHECK(log.points[0].losses == 0);
    CHECK(log.points[1].losses == 0);
    CHECK(log.points[2].loss() == 2.0);
}

TEST_CASE("where a run was interrupted, what it did twice and with how many workers is said") {
    run_log log;
    log.begin(two_tensors());
    log.add(step_of(1));
    log.end(1.0, false);
    log.begin(two_tensors(1));  // asked for more of the same
    CHECK(log.diagnostics.empty());
    for (std::int64_t step = 2; step <= 7; ++step) log.add(step_of(step));
    log.begin(two_tensors(5));
    run_log::start fewer = two_tensors(5);
    fewer.world_size += 2;
    log.begin(fewer);
    log.end(1.0, false);
    log.begin(two_tensors(5));
    CHECK(log.fits == 5);
    CHECK(log.interruptions == 2);
    CHECK(log.changed_world);
    REQUIRE(log.diagnostics.size() == 3);
    const auto said = [&](std::size_t i) { return log.diagnostics[i].text; };
    const std::string now = std::to_string(fewer.world_size - 2),
                      then = std::to_string(fewer.world_size);
    CHECK(log.diagnostics[0].step == 7);
    CHECK(said(0) == "was interrupted, and went on after step 5, 2 steps done twice");
    CHECK(said(1) ==
          "was interrupted, and went on after step 5, with " + then + " workers instead of " + now);
    CHECK(said(2) == "went on after step 5, with " + now + " workers instead of " + then);
    for (const detail::run_diagnostic& one : log.diagnostics) CHECK_FALSE(one.bad);
}

TEST_CASE("an epoch whose line is missing costs what its steps did") {
    const auto step = [](std::int64_t number) {
        run_log::step s = step_of(number);
        s.costs = {.examples = 8, .bytes_sent = 100};
        return s;
    };
    const auto sent = [&](bool first_line, bool hole, bool steps) {
        run_log log;
        log.begin(two_tensors());
        for (std::int64_t i = 1; i <= 8; ++i) {
            if (steps && (i < 4 || i > 5)) log.add(step(i));
            if (hole && i == 5) log.leave_hole();
            if (i == 8 || (i == 4 && first_line))
                log.add(run_log::finished_epoch{
                    .epoch = i / 4, .step = i, .costs = {.examples = 32, .bytes_sent = 400}});
        }
        return log.total.bytes_sent;
    };
    CHECK(sent(true, false, true) == 800.0);
    CHECK(sent(true, true, true) == 800.0);   // some of its steps alone
    CHECK(sent(true, true, false) == 800.0);  // and none of them
    CHECK(sent(false, true, true) == 800.0);  // the line of the first
}

TEST_CASE("where steps are not told of again, what is known of tensors stays") {
    run_log log;
    log.begin(two_tensors());
    run_log::step told = step_of(1);
    const std::vector<std::int64_t> bytes{7, 3};
    told.tensor_message_bytes = bytes;
    log.add(told);
    log.end(1.0, false);
    log.begin(two_tensors(1));
    CHECK(log.about.tensors[0].message_bytes == 7.0);
    CHECK(log.tensor_steps == 1);
    run_log::start others = two_tensors(1);
    others.tensors[0].shape = {12};
    log.begin(others);
    CHECK(log.about.tensors[0].message_bytes == 0.0);
    CHECK(log.tensor_steps == 0);
}

TEST_CASE("steps that are not in a log are counted, and said") {
    run_log log;
    log.begin(two_tensors(40));
    CHECK(log.steps_missing == 40);
    REQUIRE(log.diagnostics.size() == 1);
    CHECK(log.diagnostics[0].step == 0);
    CHECK(log.diagnostics[0].text ==
          "the first 40 steps are not in this log; seconds and bytes are without them");
    log.add(step_of(41));
    log.end(1.0, false);
    log.begin(two_tensors(41));
    CHECK(log.steps_missing == 40);
    log.end(1.0, false);
    log.begin(two_tensors(42));  // between two calls of fit, one that this log was not given to
    CHECK(log.steps_missing == 41);
    CHECK(log.diagnostics[1].step == 41);
    CHECK(log.diagnostics[1].text ==
          "the next 1 step is not in this log; seconds and bytes are without them");
    log.begin(two_tensors(30));  // taken up again
    CHECK(log.steps_missing == 41);
    CHECK(log.steps == 1);
}

TEST_CASE("what the model was found to be at the end of fit is kept, where no epoch tells of it") {
    const evaluation found{.loss = 0.5, .accuracy = 0.75, .examples = 8};
    run_log log;
    log.begin(two_tensors());
    log.add(step_of(1));
    log.add(run_log::finished_epoch{.epoch = 1, .step = 1, .seconds = 1.0, .loss = 2.0});
    log.end(1.5, true, found);
    REQUIRE(log.epochs.size() == 1);  // stopped after an epoch that was not evaluated
    CHECK(log.last_evaluated()->evaluated->accuracy == 0.75);
    CHECK(log.epochs[0].loss == 2.0);

    log.begin(two_tensors(1));
    log.add(step_of(2));
    log.end(0.5, false, evaluation{.loss = 0.25, .accuracy = 1.0, .examples = 8});
    REQUIRE(log.epochs.size() == 2);  // no epoch told of the second step
    CHECK(log.epochs[1].step == 2);
    CHECK(log.epochs[1].steps == 0);
    CHECK(log.epochs[1].seconds == 2.0);
    CHECK(log.last_evaluated()->evaluated->accuracy == 1.0);
    CHECK(log.steady().second == 1);

    run_log resumed;  // with nothing left to do
    resumed.begin(two_tensors(7));
    resumed.end(0.125, false, found);
    REQUIRE(resumed.last_evaluated() != nullptr);
    CHECK(resumed.last_evaluated()->step == 7);
    CHECK(resumed.steps == 0);
    resumed.begin(two_tensors(7));
    resumed.end(0.125, false, found);
    CHECK(resumed.epochs.size() == 1);
}

TEST_CASE("from where on no loss was finite is known to the step, however points are merged") {
    const double nan = std::numeric_limits<double>::quiet_NaN();
    run_log log;
    log.begin(two_tensors());
    log.add(step_of(1, nan));
    CHECK(log.not_finite_from == 1);
    log.add(step_of(2));
    CHECK(log.not_finite_from == 0);
    const auto last = 3 * static_cast<std::int64_t>(run_log::points_max);
    for (std::int64_t s = 3; s <= last; ++s) log.add(step_of(s, s < 5001 ? 1.0 : nan));
    log.add(run_log::finished_epoch{.epoch = 1, .step = last, .loss = nan});
    CHECK(log.not_finite_from == 5001);
    log.begin(two_tensors(5000));
    CHECK(log.not_finite_from == 0);

    run_log thin;  // lines of epochs alone
    thin.begin(two_tensors());
    thin.add(run_log::finished_epoch{.epoch = 1, .step = 10, .loss = 1.0});
    thin.add(run_log::finished_epoch{.epoch = 2, .step = 20, .loss = nan});
    CHECK(thin.not_finite_from == 20);
    thin.add(run_log::finished_epoch{.epoch = 3, .step = 30, .loss = 1.0});
    CHECK(thin.not_finite_from == 0);
}

TEST_CASE("computing is what is neither compressing nor waiting, of a step of the last epoch") {
    run_log log;
    CHECK(computing_seconds(log) == 0.0);
    log.begin(two_tensors());
    log.add(step_of(1));
    CHECK(computing_seconds(log) == 0.25);
    log.add(run_log::finished_epoch{
        .epoch = 1,
        .step = 2,
        .costs = {.load = 1.0, .compute = 2.0, .compress = 32.0, .wait = 64.0, .apply = 4.0}});
    CHECK(computing_seconds(log) == 3.5);
}
