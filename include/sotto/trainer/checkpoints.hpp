#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "sotto/checkpoint/detail/disk.hpp"
#include "sotto/trainer/reports.hpp"

namespace sotto {

/// Prints on standard error that a checkpoint could not be written.
void complain_of_checkpoint(const checkpoint_report& report);

/// Passed to `fit`, writes the complete state of the run into a folder, periodically and at the end
/// of `fit`. `trainer.resume` continues from there.
///
/// All ranks take part: rank 0 writes one file, "checkpoint-STEP.safetensors", which any reader of
/// safetensors opens. It receives the state of the other ranks one tensor at a time. A crash leaves
/// a complete checkpoint or none, never a partial one. An older checkpoint is removed only after
/// the new one is safe on the disk.
///
/// A full or failing disk does not end training. All ranks call on_checkpoint of their callbacks,
/// rank 0 calls on_failure, and the next checkpoint is tried when due. Callback state is not saved,
/// such as the epochs that early_stop has waited, except that a callback stopped `fit`.
///
/// From the first `fit` on the folder belongs to the job until the trainer ends: see
/// checkpoint::folder_owner. If it is unknown whether another job that owned it still lives, `fit`
/// begins at most a minute later. A job that loses the folder, because it was halted for more than
/// a minute, continues to train and writes no checkpoints.
///
/// While rank 0 writes and syncs the file, the other ranks wait, at most for the transport's
/// timeout. If the disk needs longer for the whole file, the job ends: for a slow disk, increase
/// the transport's timeout.
///   cost    rank 0 needs memory for one more tensor; the other ranks send their buffers, residuals
///           and velocities
///   errors  invalid_option: a period or `keep` below 1. When `fit` begins: a folder that another
///           job owns, more tensors than a file's header can name, or a folder with another run's
///           checkpoints, which would be lost: this trainer did not write them or resume from them
///           io_failure, when `fit` begins: the folder cannot be created or read
///           mismatch: ranks that must hold the same parameters or optimizer state do not
class checkpoints {
public:
    /// Selects when checkpoints are written, and how many remain.
    struct options {
        std::optional<std::int64_t> every_steps{};  // period in steps; the first that is due counts
        std::optional<std::int64_t> every_epochs{};  // period in epochs; with neither, 1
        std::int64_t keep = 2;  // number that remain, as the newest may be damaged;
                                // a write needs space for one more
        /// Called on rank 0 if a checkpoint fails; may be null. Callbacks' on_checkpoint runs on
        /// every rank.
        void (*on_failure)(const checkpoint_report&) = complain_of_checkpoint;
        /// Name of the job that owns the folder: the same for all ranks and restarts, at most 256
        /// bytes. If empty, the launcher's name of the job, see job_of_launcher; without one, each
        /// process is a job.
        std::string job{};

        void describe(auto&& field) const {
            field("every_steps", every_steps);
            field("every_epochs", every_epochs);
            field("keep", keep);
        }
    };

    /// Writes into this folder, which is created if needed. A relative path refers to the current
    /// working directory; later changes of it have no effect.
    explicit checkpoints(const std::string& folder) : checkpoints(folder, options()) {}
    /// Writes into this folder as `chosen`.
    checkpoints(const std::string& folder, options chosen, detail::checkpoint::disk files = {});

    /// Returns the folder as an absolute path.
    const std::string& folder() const noexcept { return folder_; }
    /// Returns the options as passed.
    const options& chosen() const noexcept { return options_; }
    /// Returns the functions that access the disk.
    detail::checkpoint::disk files() const { return files_; }

    /// True if a checkpoint is due after `step` steps. `epoch`: number of completed epochs, if one
    /// just ended.
    bool due(std::int64_t step, std::optional<std::int64_t> epoch) const noexcept;

private:
    static void check(const char* name, std::int64_t value);

    std::string folder_;
    options options_;
    detail::checkpoint::disk files_;
};

}  // namespace sotto

namespace sotto::detail {
template <class Extra>
inline constexpr bool is_checkpoints = false;
template <>
inline constexpr bool is_checkpoints<checkpoints> = true;
}  // namespace sotto::detail

#ifndef SOTTO_SEPARATE_COMPILATION
#include "sotto/trainer/checkpoints.ipp"
#endif
