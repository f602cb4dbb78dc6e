#pragma once

#include <cstdint>

#include "sotto/core/errors.hpp"
#include "sotto/strategies/strategy.hpp"
#include "sotto/trainer/detail/checkpointing/training_position.hpp"
#include "sotto/trainer/options.hpp"

namespace sotto::detail {

/// Progress of a call of `fit`, including that of an earlier process.
struct fit_progress {
    std::int64_t number = 1;  // number of the call, among all calls of one trainer
    std::int64_t epochs = 0, steps = 0;
    bool stopped = false;  // true: a fit_control stopped it before the resume
    bool passed = false;   // true: other ranks or the checkpoint are in a later call

    bool ends(const training_length& length) const noexcept;
    bool complete(const training_length& length) const noexcept;
    /// Skips `done` rounds that an earlier process of this rank did. Returns the number that belong
    /// to this call.
    std::int64_t skip(std::int64_t done, std::int64_t rounds_an_epoch,
                      const training_length& length, std::int64_t& epoch,
                      std::int64_t& round) noexcept;
    /// Ends this call and its epoch: other ranks ended it, and did `done` rounds since it began.
    /// Returns the number that belong to this call.
    std::int64_t pass(std::int64_t done, std::int64_t rounds_an_epoch,
                      const training_length& length, std::int64_t& epoch,
                      std::int64_t& round) noexcept;
    std::int64_t epochs_left(const training_length& length) const noexcept;
    std::int64_t steps_left(const training_length& length) const noexcept;

private:
    /// Returns the rest; an unbounded length stays unbounded.
    std::int64_t left(std::int64_t most, std::int64_t done) const noexcept;
};

/// Loss of a rank in the current epoch.
struct learnt_so_far {
    double loss = 0.0;  // sum over the examples
    std::int64_t examples = 0;

    void add(double mean_loss, std::int64_t more) noexcept;
    double mean() const noexcept;
};

/// The data of an epoch.
struct data_source {
    std::int64_t examples = 0;
    std::int64_t of_this_rank = 0;
    bool own = false;

    /// True if `now` is the same data. Another number of ranks divides the same data differently.
    bool is(const data_source& now) const noexcept;
};

/// Position of a trainer, over all calls of `fit`.
struct run_position {
    std::int64_t step = 0;   // rounds completed in total
    std::int64_t epoch = 0;  // epochs completed
    std::int64_t round = 0;  // rounds completed of the current epoch
    data_source source{};    // data of those rounds
    learnt_so_far learnt{};  // loss of those rounds
    fit_progress fit{};      // current call

    training_position place(bool stopped = false) const noexcept;
};

/// True if this rank has no rounds: it only serves others, or it has no data while other ranks
/// have. Ranks in step have equally many rounds: then no rank has any, and it throws.
bool has_no_rounds(const epoch_agreement& agreed, bool in_step);

}  // namespace sotto::detail

#ifndef SOTTO_SEPARATE_COMPILATION
#include "sotto/trainer/detail/fit_progress.ipp"
#endif
