#pragma once

#include <cstdint>

#include "sotto/core/errors.hpp"
#include "sotto/strategies/strategy.hpp"
#include "sotto/trainer/detail/checkpointing/training_position.hpp"
#include "sotto/trainer/options.hpp"

namespace sotto::detail {

/// How far a call of `fit` is, what an earlier process did of it included.
struct fit_progress {
    std::int64_t number = 1;  // of the call, among all that a program makes of one trainer
    std::int64_t epochs = 0, steps = 0;
    bool stopped = false;  // it ended by a fit_control, before it was resumed
    bool passed = false;   // others are, or what was resumed belongs to, a later call: it is over

    bool ends(const training_length& length) const noexcept;
    bool complete(const training_length& length) const noexcept;
    /// Goes on where an earlier process of this rank was, which has done so many rounds; returns
    /// those of them that belong to this call.
    std::int64_t skip(std::int64_t done, std::int64_t rounds_an_epoch,
                      const training_length& length, std::int64_t& epoch,
                      std::int64_t& round) noexcept;
    /// Others have ended this call, and done so many rounds since it began: it is over, with its
    /// epoch. Returns how many belong to it.
    std::int64_t pass(std::int64_t done, std::int64_t rounds_an_epoch,
                      const training_length& length, std::int64_t& epoch,
                      std::int64_t& round) noexcept;
    std::int64_t epochs_left(const training_length& length) const noexcept;
    std::int64_t steps_left(const training_length& length) const noexcept;

private:
    /// What has no bound still has none.
    std::int64_t left(std::int64_t most, std::int64_t done) const noexcept;
};

/// What a rank has learnt in the epoch under way.
struct learnt_so_far {
    double loss = 0.0;  // sum over the examples
    std::int64_t examples = 0;

    void add(double mean_loss, std::int64_t more) noexcept;
    double mean() const noexcept;
};

/// What an epoch is read from.
struct data_source {
    std::int64_t examples = 0;
    std::int64_t of_this_rank = 0;
    bool own = false;

    /// Another number of ranks shares the same data out otherwise.
    bool is(const data_source& now) const noexcept;
};

/// Where a trainer stands, over all calls of `fit`.
struct run_position {
    std::int64_t step = 0;   // rounds completed in all
    std::int64_t epoch = 0;  // epochs completed
    std::int64_t round = 0;  // rounds completed of the epoch after these
    data_source source{};    // of those rounds
    learnt_so_far learnt{};  // in them
    fit_progress fit{};      // the call under way

    training_position place(bool stopped = false) const noexcept;
};

/// Whether this rank has no rounds of its own: it only serves others, or it has no data while
/// others do. Ranks in step have equally many: then no rank has any.
bool has_no_rounds(const epoch_agreement& agreed, bool in_step);

}  // namespace sotto::detail

#ifndef SOTTO_SEPARATE_COMPILATION
#include "sotto/trainer/detail/fit_progress.ipp"
#endif
