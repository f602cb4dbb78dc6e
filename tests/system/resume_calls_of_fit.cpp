// A program that calls fit more than once, or is stopped by a callback, is started again as it is:
// what was over stays over, what was under way goes on.

#include <doctest/doctest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "support/checkpointed.hpp"
#include "support/sensible.hpp"

using namespace sotto;
using testing::interrupted, testing::memory_files, testing::numbered;

namespace {

const all_reduce by_dgc{sgd{.learning_rate = 0.0625}, testing::sensible<dgc>::options()};

/// What a program left on rank 0, and what each of its calls of fit reported there.
struct left_behind {
    std::vector<float> parameters;
    testing::snapshot remembered;
    std::vector<fit_report> fits;
    std::int64_t step = 0;

    bool same(const left_behind& other) const {
        return parameters == other.parameters && remembered == other.remembered &&
               step == other.step;
    }
};

/// Runs a program of 3 ranks, from the beginning or from the disk, until it ends or step
/// `killed_after` is done: program(fit) calls fit(arguments...) any number of times.
template <class Program>
left_behind run(memory_files files, Program program, std::int64_t killed_after = 0) {
    left_behind left;
    try {
        run_in_process(3, [&](in_process& transport) {
            testing::remembering_model model;
            trainer trainer{model, by_dgc, transport, {.batch_size = 4, .seed = 7}};
            trainer.try_resume("run", {.on_damage = nullptr}, files);
            std::vector<fit_report> fits;
            const auto fit = [&](const numbered& data, detail::training_length length,
                                 auto&&... extras) {
                const auto kill = [&](const step_report& step) {
                    if (step.step == killed_after) throw interrupted();
                };
                fits.push_back(trainer.fit(data, length, extras..., kill));
            };
            program(fit, transport.rank());
            if (transport.rank() != 0) return;
            left.parameters.assign(trainer.parameters().begin(), trainer.parameters().end());
            left.remembered = testing::snapshot(trainer.state());
            left.fits = fits;
            left.step = trainer.step();
        });
    } catch (const interrupted&) {}
    return left;
}

/// The same ends wherever the program is killed.
template <class Program>
void check_every_kill(Program program) {
    memory_files undisturbed;
    const left_behind whole =
        run(undisturbed, [&](auto& fit, int rank) { program(fit, rank, undisturbed); });
    REQUIRE(whole.step > 20);
    for (std::int64_t step = 1; step <= whole.step; ++step) {
        CAPTURE(step);
        memory_files files;
        const auto again = [&](auto& fit, int rank) { program(fit, rank, files); };
        run(files, again, step);
        const left_behind resumed = run(files, again);
        CHECK(resumed.same(whole));
        REQUIRE(resumed.fits.size() == whole.fits.size());
        for (std::size_t i = 0; i < whole.fits.size(); ++i)
            CHECK(resumed.fits[i].evaluated.has_value() == whole.fits[i].evaluated.has_value());
        CHECK(resumed.fits.back().step == whole.fits.back().step);
    }
}

checkpoints into(memory_files files, checkpoints::options options = {}) {
    options.on_failure = nullptr;
    return checkpoints{"run", options, files};
}

/// Asks on one rank that training stop, after an epoch.
struct stopper {
    int rank = 0;
    std::int64_t after_epoch = 0;
    bool asks = true;
    fit_control on_epoch(const epoch_report& report) const {
        return asks && report.epoch == after_epoch ? fit_control::stop : fit_control::keep_going;
    }
};

}  // namespace

TEST_CASE("an epoch that was interrupted reports the loss of all of it, and ends fit by it") {
    // Every epoch has one loss. A callback stops at the third one that has it.
    constexpr double loss = 34.5;
    const auto program = [](std::vector<double>& losses, std::int64_t stops_after) {
        return [&losses, stops_after](auto& fit, int rank, memory_files files) {
            const auto note = [&losses, stops_after, rank](const epoch_report& report) {
                if (rank == 0) losses.push_back(report.loss);
                return report.epoch >= stops_after && report.loss == loss ? fit_control::stop
                                                                          : fit_control::keep_going;
            };
            fit(numbered{70}, epochs{4}, into(files, {.every_steps = 1}), note);
        };
    };
    for (const std::int64_t epochs_done : {3, 4}) {
        const std::int64_t last = 6 * epochs_done;
        for (std::int64_t step = 1; step <= last; ++step) {
            CAPTURE(step);
            memory_files files;
            std::vector<double> before, after;
            run(
                files, [&](auto& fit, int rank) { program(before, epochs_done)(fit, rank, files); },
                step);
            const left_behind resumed = run(
                files, [&](auto& fit, int rank) { program(after, epochs_done)(fit, rank, files); });
            CHECK(resumed.step == last);
            CHECK(std::ssize(after) == epochs_done - (step - 1) / 6);
            for (const double each : after) CHECK(each == loss);
        }
    }
}

TEST_CASE("ten calls of fit for an epoch each are ten epochs, wherever the program is killed") {
    check_every_kill([](auto& fit, int, memory_files files) {
        for (int i = 0; i < 10; ++i) fit(numbered{40}, epochs{1}, into(files));
    });
}

TEST_CASE("a first call of fit that writes no checkpoints is over once the second one does") {
    check_every_kill([](auto& fit, int, memory_files files) {
        fit(numbered{70}, steps{10});
        fit(numbered{70}, steps{14}, into(files, {.every_steps = 3}));
    });
}

TEST_CASE("calls of fit over other data leave the epoch alone in which the run stands") {
    const numbered unseen{10};
    check_every_kill([&](auto& fit, int, memory_files files) {
        fit(numbered{30}, steps{4}, into(files, {.every_steps = 1}), evaluate_on{unseen});
        fit(numbered{70}, steps{9}, into(files, {.every_steps = 2}), evaluate_on{unseen});
        fit(numbered{50}, epochs{2}, into(files, {.every_steps = 2}));
    });
}

TEST_CASE("a call that is over does nothing, and says so") {
    memory_files files;
    const auto program = [&](auto& fit, int) {
        for (int i = 0; i < 3; ++i) fit(numbered{60}, steps{4}, into(files, {.every_steps = 1}));
    };
    run(files, program, 10);  // in the third
    const auto calls = files.disk().calls;
    const left_behind resumed = run(files, program);
    REQUIRE(resumed.fits.size() == 3);
    for (const std::size_t i : {0u, 1u}) {
        CHECK(resumed.fits[i].steps == 0);
        CHECK(resumed.fits[i].step == 9);
        CHECK(resumed.fits[i].checkpoints == 0);
        CHECK_FALSE(resumed.fits[i].stopped_early);
    }
    CHECK(resumed.fits[2].steps == 3);
    CHECK(resumed.step == 12);
    CHECK(files.disk().calls > calls);
}

TEST_CASE("a fit that throws is not over: resumed in the same process it goes on") {
    memory_files undisturbed, files;
    const left_behind whole = run(undisturbed, [&](auto& fit, int) {
        fit(numbered{70}, steps{12}, into(undisturbed, {.every_steps = 1}));
    });
    run_in_process(3, [&](in_process& transport) {
        testing::remembering_model model;
        trainer trainer{model, by_dgc, transport, {.batch_size = 4, .seed = 7}};
        const auto fail = [](const step_report& step) {
            if (step.step == 5) throw interrupted();
        };
        const auto saving = into(files, {.every_steps = 2});
        CHECK_THROWS_AS(trainer.fit(numbered{70}, steps{12}, saving, fail), interrupted);
        CHECK(trainer.resume("run", {}, files).step == 4);
        CHECK(trainer.fit(numbered{70}, steps{12}, saving).steps == 8);
        if (transport.rank() == 0)
            CHECK(std::vector<float>(trainer.parameters().begin(), trainer.parameters().end()) ==
                  whole.parameters);
    });
}

TEST_CASE("a run that a callback of one rank has stopped stays stopped") {
    for (const int rank : {0, 2}) {
        memory_files files;
        const auto program = [&](bool asks) {
            return [&files, rank, asks](auto& fit, int own) {
                const numbered unseen{10};
                fit(numbered{60}, epochs{9}, into(files), evaluate_on{unseen},
                    stopper{.rank = rank, .after_epoch = 4, .asks = asks && own == rank});
            };
        };
        const left_behind first = run(files, program(true));
        CHECK(first.step == 20);
        CHECK(first.fits[0].stopped_early);
        CHECK(first.fits[0].checkpoints == 4);  // the last one has the verdict already
        const left_behind again = run(files, program(false));
        CHECK(again.same(first));
        REQUIRE(again.fits.size() == 1);
        CHECK(again.fits[0].steps == 0);
        CHECK(again.fits[0].stopped_early);
        REQUIRE(again.fits[0].evaluated.has_value());
        CHECK(again.fits[0].evaluated->loss == first.fits[0].evaluated->loss);
    }
}

TEST_CASE("what stops one call of fit does not stop the next, and is not forgotten by a crash") {
    check_every_kill([](auto& fit, int own, memory_files files) {
        const stopper stop{.after_epoch = 3, .asks = own == 1};
        fit(numbered{60}, epochs{9}, into(files, {.every_steps = 4}), stop);
        fit(numbered{60}, epochs{2}, into(files, {.every_steps = 4}));
    });
}

TEST_CASE("where the checkpoint of the last epoch failed, the end of the run writes it") {
    memory_files files;
    std::int64_t written = 0, failed = 0;
    run_in_process(2, [&](in_process& transport) {
        testing::remembering_model model;
        trainer trainer{model, by_dgc, transport, {.batch_size = 4, .seed = 7}};
        const stopper stop{.after_epoch = 2};
        const auto breaks = [&](const step_report& step) {
            if (transport.rank() == 0 && step.step == 10)
                files.disk().fails_at = files.disk().calls + 3;
        };
        const auto report = trainer.fit(numbered{40}, epochs{9}, into(files), stop, breaks);
        if (transport.rank() != 0) return;
        CHECK(report.step == 10);
        CHECK(report.stopped_early);
        written = report.checkpoints, failed = report.checkpoints_failed;
    });
    CHECK(failed == 1);
    CHECK(written == 2);  // of the first epoch, and at the end
    CHECK(files.disk().names.count("checkpoint-000000000010.safetensors") == 1);
}
