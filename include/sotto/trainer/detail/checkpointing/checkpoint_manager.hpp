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

/// The trainer's dealings with checkpoints. It refers to all that is to be saved.
class checkpoint_manager {
public:
    checkpoint_manager(saved_run& run, transport_ref through, const std::string& configuration,
                       std::uint64_t seed);
    ~checkpoint_manager();

    /// How a call of `fit` that comes now begins: where an earlier process left it, was it over or
    /// under way there, or anew.
    fit_progress next_fit() const noexcept;

    /// Whether that one was begun by an earlier process.
    bool resumes() const noexcept;

    /// The ranks that wrote what was resumed; 0: nothing was.
    int world_size_before() const noexcept;

    /// From now on the state is another than what was resumed, except in a call that is over.
    void begin_fit(const fit_progress& progress) noexcept;
    void end_fit() noexcept;

    /// Before anything is trained: can checkpoints be written where they are to go? From then on
    /// the folder is this trainer's, until that ends.
    void require_folder(const checkpoints& asked, const training_position& place);

    /// While it lives this process trains: until then another trainer of it may take over the
    /// folder of this one.
    class training {
    public:
        explicit training(checkpoint_manager& keeper) noexcept : keeper_(&keeper) {}
        training(const training&) = delete;
        training& operator=(const training&) = delete;
        ~training();

    private:
        checkpoint_manager* keeper_;
    };

    /// `completed`: whole epochs, where one just ended. The last one of a `fit` is due unless it
    /// was written.
    bool is_due(const checkpoints& asked, const training_position& place,
                std::optional<std::int64_t> completed, bool last) const;

    /// Writes one. The report says what the disk did wrong, the same on all ranks.
    checkpoint_report save(const checkpoints& asked, const training_position& place);

    /// Adds it to what the call of `fit` reports, and tells rank 0 of a failure.
    void note(const checkpoints& asked, const checkpoint_report& report, fit_report& whole);

    resume_report restore(const std::string& where, bool required,
                          void (*on_damage)(const resume_report&), const checkpoint::disk& files,
                          training_position& place);

    /// What the last call of `fit` could not save, a sentence each.
    std::vector<std::string> incomplete(const std::optional<server_report>& served) const;

    /// Refuses to go on with a state that is partly another's.
    void require_whole_state() const;

private:
    struct used_folder;
    struct folders;

    /// Where several models are trained each has a folder of its own.
    std::string folder_in(const std::string& folder) const;

    saved_run& run_;
    transport_ref through_;
    const std::string& configuration_;
    std::uint64_t seed_;
    std::int64_t fits_ = 0;                // that have ended
    std::optional<fit_progress> resumed_;  // and not trained since
    int world_size_before_ = 0;            // of what was resumed last
    std::string torn_;                     // how the last resume ended, if half-way
    std::string incomplete_;  // why the last checkpoint that was due is not there; or empty
    std::unique_ptr<folders> folders_;
};

}  // namespace sotto::detail

#ifndef SOTTO_SEPARATE_COMPILATION
#include "sotto/trainer/detail/checkpointing/checkpoint_manager.ipp"
#endif
