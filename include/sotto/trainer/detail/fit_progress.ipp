#pragma once

#include "sotto/trainer/detail/fit_progress.hpp"

#include <algorithm>
#include <limits>

#include "sotto/core/config.hpp"
#include "sotto/data/sampler.hpp"

namespace sotto::detail {

SOTTO_DECL bool fit_progress::ends(const training_length& length) const noexcept {
    return stopped || passed || complete(length);
}

SOTTO_DECL bool fit_progress::complete(const training_length& length) const noexcept {
    return epochs >= length.epochs_max || steps >= length.steps_max;
}

SOTTO_DECL std::int64_t fit_progress::skip(std::int64_t done, std::int64_t rounds_an_epoch,
                                           const training_length& length, std::int64_t& epoch,
                                           std::int64_t& round) noexcept {
    if (rounds_an_epoch < 1) return 0;
    std::int64_t skipped = 0;
    while (skipped < done && !ends(length)) {
        const std::int64_t few =
            (std::min)({done - skipped, rounds_an_epoch - round, length.steps_max - steps});
        skipped += few;
        round += few;
        steps += few;
        if (round < rounds_an_epoch) continue;
        ++epoch, round = 0;
        ++epochs;
    }
    return skipped;
}

SOTTO_DECL std::int64_t fit_progress::pass(std::int64_t done, std::int64_t rounds_an_epoch,
                                           const training_length& length, std::int64_t& epoch,
                                           std::int64_t& round) noexcept {
    std::int64_t skipped = skip(done, rounds_an_epoch, length, epoch, round);
    if (round > 0)  // other ranks had fewer batches
        skipped += skip(rounds_an_epoch - round, rounds_an_epoch, length, epoch, round);
    passed = true;
    return skipped;
}

SOTTO_DECL std::int64_t fit_progress::epochs_left(const training_length& length) const noexcept {
    return left(length.epochs_max, epochs);
}

SOTTO_DECL std::int64_t fit_progress::steps_left(const training_length& length) const noexcept {
    return left(length.steps_max, steps);
}

SOTTO_DECL std::int64_t fit_progress::left(std::int64_t most, std::int64_t done) const noexcept {
    if (stopped || passed) return 0;
    if (most == (std::numeric_limits<std::int64_t>::max)()) return most;
    return std::max<std::int64_t>(most - done, 0);
}

SOTTO_DECL void learnt_so_far::add(double mean_loss, std::int64_t more) noexcept {
    loss += mean_loss * static_cast<double>(more);
    examples += more;
}

SOTTO_DECL double learnt_so_far::mean() const noexcept {
    return loss / static_cast<double>(std::max<std::int64_t>(examples, 1));
}

SOTTO_DECL bool data_source::is(const data_source& now) const noexcept {
    return examples == now.examples && own == now.own &&
           (of_this_rank == any_share || of_this_rank == now.of_this_rank);
}

SOTTO_DECL training_position run_position::place(bool stopped) const noexcept {
    return {.step = step,
            .epoch = epoch,
            .round = round,
            .fit = fit.number,
            .fit_epochs = fit.epochs,
            .fit_steps = fit.steps,
            .fit_stopped = stopped ? 1 : 0,
            .examples = source.examples,
            .of_this_rank = source.of_this_rank,
            .own = source.own ? 1 : 0};
}

SOTTO_DECL bool has_no_rounds(const epoch_agreement& agreed, bool in_step) {
    if (agreed.rounds > 0) return false;
    if (in_step) refuse_no_examples();
    return true;
}

}  // namespace sotto::detail
