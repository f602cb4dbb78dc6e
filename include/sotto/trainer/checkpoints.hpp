#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "sotto/checkpoint/detail/disk.hpp"
#include "sotto/trainer/reports.hpp"

namespace sotto {

/// Says on standard error that a checkpoint could not be written.
void complain_of_checkpoint(const checkpoint_report& report);

/// Given to `fit`, writes everything that the run needs to go on into a folder, now and then and at
/// the end of `fit`; `trainer.resume` goes on from there.
///
/// All ranks take part: rank 0 writes one file for all of them, "checkpoint-STEP.safetensors",
/// which any reader of safetensors opens, and gathers for it what the others hold, one tensor at a
/// time. It appears whole or not at all, and the older one goes only once the new one is safe on
/// the disk. A disk that is full or fails does not end training: callbacks with on_checkpoint are
/// told on every rank, on_failure is called on rank 0, and the next one is tried when it is due.
/// What callbacks remember is not in it, such as the epochs that early_stop has waited; that one of
/// them ended `fit` is.
///
/// From the first `fit` on the folder belongs to the job, until the trainer ends: see
/// checkpoint::folder_owner. Where it is not known whether another job that owned it still lives,
/// `fit` begins a minute later at most. A job that loses the folder, since it was halted for
/// longer than a minute, trains on and writes nothing any more.
///
/// While rank 0 writes and syncs the file, the others wait, for no longer than the transport's
/// timeout: a disk must take the whole file in less, or the job ends. For a slow one, give the
/// transport a longer timeout.
///   cost    rank 0 needs room for one tensor more; on the wire go the other ranks' buffers,
///           residuals and velocities
///   errors  invalid_option: a period or `keep` below 1; when `fit` begins, a folder that another
///           job owns, or with checkpoints that this trainer neither wrote nor resumed from
///           (another run's: they would be lost), or more tensors than a file's header can name.
///           io_failure, when `fit` begins: the folder cannot be made or read. mismatch: ranks that
///           should hold the same parameters or optimizer state do not
class checkpoints {
public:
    /// When checkpoints are written, and how many stay.
    struct options {
        std::optional<std::int64_t> every_steps{};   // whichever is due first;
        std::optional<std::int64_t> every_epochs{};  // with neither, after every epoch
        std::int64_t keep =
            2;  // generations: the newest may turn out damaged. While one is written,
                // there must be room for one more
        /// Called on rank 0; null: nothing is. Callbacks with on_checkpoint are told everywhere.
        void (*on_failure)(const checkpoint_report&) = complain_of_checkpoint;
        /// Names the job that owns the folder: alike for all its ranks and restarts, at most 256
        /// bytes. Empty: what the launcher calls it, see job_of_launcher; without one, each process
        /// is a job.
        std::string job{};

        void describe(auto&& field) const {
            field("every_steps", every_steps);
            field("every_epochs", every_epochs);
            field("keep", keep);
        }
    };

    /// Into this folder, which is made if it is not there. A relative path is that of the working
    /// directory now, whatever the program makes of it later.
    explicit checkpoints(const std::string& folder) : checkpoints(folder, options()) {}
    /// The same as chosen.
    checkpoints(const std::string& folder, options chosen, detail::checkpoint::disk files = {});

    /// Where they are: an absolute path.
    const std::string& folder() const noexcept { return folder_; }
    /// As they were given.
    const options& chosen() const noexcept { return options_; }
    /// By what the disk is reached.
    detail::checkpoint::disk files() const { return files_; }

    /// Whether one is due where this many steps were done, and this many whole epochs if one just
    /// ended.
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
