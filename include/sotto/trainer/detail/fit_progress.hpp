#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>

#include "sotto/core/errors.hpp"
#include "sotto/data/sampler.hpp"
#include "sotto/strategies/strategy.hpp"
#include "sotto/trainer/options.hpp"
#include "sotto/trainer/detail/checkpointing/run_place.hpp"

namespace sotto::detail {

/// How far a call of `fit` is, what an earlier process did of it included.
struct fit_progress {
    std::int64_t number = 1;  // of the call, among all that a program makes of one trainer
    std::int64_t epochs = 0, steps = 0;
    bool stopped = false;  // it ended by a verdict, before it was resumed
    bool passed = false;   // others are, or what was resumed belongs to, a later call: it is over

    bool ends(const training_length& length) const noexcept {
        return stopped || passed || complete(length);
    }
    bool complete(const training_length& length) const noexcept {
        return epochs >= length.epochs_max || steps >= length.steps_max;
    }
    /// Goes on where an earlier process of this rank was, which has done so many rounds; returns
    /// those of them that belong to this call.
    std::int64_t skip(std::int64_t done, std::int64_t rounds_an_epoch,
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
    /// Others have ended this call, and done so many rounds since it began: it is over, with its
    /// epoch. Returns how many belong to it.
    std::int64_t pass(std::int64_t done, std::int64_t rounds_an_epoch,
                      const training_length& length, std::int64_t& epoch,
                      std::int64_t& round) noexcept {
        std::int64_t skipped = skip(done, rounds_an_epoch, length, epoch, round);
        if (round > 0)  // others had fewer batches
            skipped += skip(rounds_an_epoch - round, rounds_an_epoch, length, epoch, round);
        passed = true;
        return skipped;
    }
    std::int64_t epochs_left(const training_length& length) const noexcept {
        return left(length.epochs_max, epochs);
    }
    std::int64_t steps_left(const training_length& length) const noexcept {
        return left(length.steps_max, steps);
    }

private:
    /// What has no bound still has none.
    std::int64_t left(std::int64_t most, std::int64_t done) const noexcept {
        if (stopped || passed) return 0;
        if (most == (std::numeric_limits<std::int64_t>::max)()) return most;
        return std::max<std::int64_t>(most - done, 0);
    }
};

/// What a rank has learnt in the epoch under way.
struct learnt_so_far {
    double loss = 0.0;  // sum over the examples
    std::int64_t examples = 0;

    void add(double mean_loss, std::int64_t more) noexcept {
        loss += mean_loss * static_cast<double>(more);
        examples += more;
    }
    double mean() const noexcept {
        return loss / static_cast<double>(std::max<std::int64_t>(examples, 1));
    }
};

/// What an epoch is read from.
struct data_source {
    std::int64_t examples = 0;
    std::int64_t of_this_rank = 0;
    bool own = false;

    /// Another number of ranks shares the same data out otherwise.
    bool is(const data_source& now) const noexcept {
        return examples == now.examples && own == now.own &&
               (of_this_rank == any_share || of_this_rank == now.of_this_rank);
    }
};

/// Where a run stands.
inline run_place place_at(std::int64_t step, std::int64_t epoch, std::int64_t round,
                          const fit_progress& fit, const data_source& source,
                          bool stopped) noexcept {
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

/// Whether this rank has no rounds of its own: it only serves others, or it has no data while
/// others do. Ranks in step have equally many: then no rank has any.
inline bool has_no_rounds(const epoch_agreement& agreed, bool in_step) {
    if (agreed.rounds > 0) return false;
    if (in_step) refuse_no_examples();
    return true;
}

}  // namespace sotto::detail
