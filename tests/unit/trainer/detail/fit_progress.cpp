#include "sotto/trainer/detail/fit_progress.hpp"

#include <doctest/doctest.h>

#include <cstdint>
#include <limits>

#include "sotto/trainer/options.hpp"

using namespace sotto;
using sotto::detail::fit_progress;

namespace {

struct passing {
    std::int64_t epoch = 3, round = 0;  // before it, and after it
    std::int64_t skipped = 0;
};

passing passed(std::int64_t done, std::int64_t rounds_an_epoch, detail::training_length length,
               std::int64_t round = 0) {
    passing p{.round = round};
    fit_progress fit;
    p.skipped = fit.pass(done, rounds_an_epoch, length, p.epoch, p.round);
    CHECK(fit.ends(length));
    CHECK(fit.epochs_left(length) == 0);
    CHECK(fit.steps_left(length) == 0);
    return p;
}

}  // namespace

TEST_CASE("a call that others have ended is passed, and no more than that") {
    const passing p = passed(100, 8, epochs{2});
    CHECK(p.skipped == 16);
    CHECK(p.epoch == 5);
    CHECK(p.round == 0);
    const passing by_steps = passed(100, 8, steps{20}, 4);
    CHECK(by_steps.skipped == 20);
    CHECK(by_steps.epoch == 6);
    CHECK(by_steps.round == 0);
    CHECK(passed(100, 8, steps{3}).round == 3);  // the next call goes on in this epoch
}

TEST_CASE("of a call that ended early, or in which others had fewer batches, epochs are whole") {
    const passing p = passed(15, 8, epochs{1000});
    CHECK(p.skipped == 16);
    CHECK(p.epoch == 5);
    CHECK(p.round == 0);
    CHECK(passed(16, 8, epochs{std::numeric_limits<std::int64_t>::max()}).epoch == 5);
    CHECK(passed(9, 8, steps{10}).skipped == 10);
}

TEST_CASE("a rank without data passes a call without an end, too") {
    CHECK(passed(16, 0, steps{10}).skipped == 0);
    CHECK(passed(16, 0, epochs{2}).epoch == 3);
}
