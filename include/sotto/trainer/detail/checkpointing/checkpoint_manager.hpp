#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "sotto/checkpoint/detail/disk.hpp"
#include "sotto/trainer/checkpoints.hpp"
#include "sotto/trainer/detail/checkpointing/training_position.hpp"
#include "sotto/trainer/detail/checkpointing/saved_run.hpp"
#include "sotto/trainer/detail/fit_progress.hpp"
#include "sotto/trainer/reports.hpp"
#include "sotto/trainer/resume_report.hpp"
#include "sotto/transports/transport_ref.hpp"

namespace sotto::detail {

/// Writes and reads the trainer's checkpoints. It refers to the state to save.
class checkpoint_manager {
public:
    checkpoint_manager(saved_run& run, transport_ref through, const std::string& configuration,
                       std::uint64_t seed);
    ~checkpoint_manager();

    /// Returns the state in which the next call of `fit` begins: as an earlier process left it,
    /// complete or incomplete, or new.
    fit_progress next_fit() const noexcept;

    /// True if an earlier process began that call.
    bool resumes() const noexcept;

    /// Returns the number of ranks that wrote the resumed checkpoint; 0 if none.
    int world_size_before() const noexcept;

    /// Begins a call of `fit`. From here on the state differs from the resumed one, except in a
    /// call that is already over.
    void begin_fit(const fit_progress& progress) noexcept;
    void end_fit() noexcept;

    /// Throws, before training, if checkpoints cannot be written to the folder. From here on the
    /// folder belongs to this trainer, until the trainer ends.
    void require_folder(const checkpoints& asked, const training_position& place);

    /// While it exists, this process trains. Without it, another trainer of this process may become
    /// the owner of the folders.
    class training {
    public:
        explicit training(checkpoint_manager& keeper) noexcept : keeper_(&keeper) {}
        training(const training&) = delete;
        training& operator=(const training&) = delete;
        ~training();

    private:
        checkpoint_manager* keeper_;
    };

    /// `completed`: number of whole epochs, if one just ended. The last checkpoint of a `fit` is
    /// due unless it was written.
    bool is_due(const checkpoints& asked, const training_position& place,
                std::optional<std::int64_t> completed, bool last) const;

    /// Writes a checkpoint. The report contains the disk's errors, the same on all ranks.
    checkpoint_report save(const checkpoints& asked, const training_position& place);

    /// Adds a checkpoint to the report of `fit`; on rank 0 calls on_failure if it failed.
    void note(const checkpoints& asked, const checkpoint_report& report, fit_report& whole);

    resume_report restore(const std::string& where, bool required,
                          void (*on_damage)(const resume_report&), const checkpoint::disk& files,
                          training_position& place);

    /// Returns what the last call of `fit` could not save, a sentence each.
    std::vector<std::string> incomplete(const std::optional<server_report>& served) const;

    /// Throws if the state is partly that of a checkpoint.
    void require_whole_state() const;

private:
    struct used_folder;
    struct folders;

    /// Returns the model's own folder, if the job trains several models.
    std::string folder_in(const std::string& folder) const;

    saved_run& run_;
    transport_ref through_;
    const std::string& configuration_;
    std::uint64_t seed_;
    std::int64_t fits_ = 0;                // number of calls that ended
    std::optional<fit_progress> resumed_;  // resumed progress, until training changes it
    int world_size_before_ = 0;            // ranks of the last resumed checkpoint
    std::string torn_;                     // error of the last resume, if it stopped partway
    std::string incomplete_;  // reason that the last due checkpoint is missing; or empty
    std::unique_ptr<folders> folders_;
};

}  // namespace sotto::detail

#ifndef SOTTO_SEPARATE_COMPILATION
#include "sotto/trainer/detail/checkpointing/checkpoint_manager.ipp"
#endif
