#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>

#include "sotto/checkpoint/detail/disk.hpp"
#include "sotto/checkpoint/detail/folder_lock.hpp"
#include "sotto/checkpoint/detail/published_model.hpp"
#include "sotto/core/detail/processes/owner_process.hpp"
#include "sotto/strategies/detail/codistillation/meeting_place.hpp"
#include "sotto/strategies/model_groups.hpp"
#include "sotto/transports/transport.hpp"

namespace sotto {

/// Groups meet in a folder that all of them see: each publishes its model there, and reads the
/// newest whole one of the others. Nobody waits for anybody, so that groups may be jobs of their
/// own and come and go.
///
/// A training that begins at step 0 removes what an earlier one left of its own group. What is left
/// of a group that has not begun yet is heard by others as soon as it is no further ahead of them
/// than teacher_rules::age_max: let trainings that follow each other meet in folders of their own.
///   wire    FOLDER/group-G/models/checkpoint-STEP.safetensors, as checkpoint::publish_model. One
///           rank of each group writes; the newest `keep` are kept. A trainer's checkpoints may
///           be in the same FOLDER
///   cost    writing and reading are in the background: of a model that is to be published while
///           the one before is still being written, nothing comes; one of others is heard once it
///           is read, some rounds after it was looked for. Memory for one model more, and while
///           they are read for one a teacher
///   errors  io_failure, in the first round, before anything is trained, on the rank that writes:
///           another process writes for the same group, or the folder cannot be used. Where the
///           file system has no locks for folders, as some network ones, both would write
///   source  Anil et al. 2018, arXiv:1804.03235
struct checkpoint_exchange {
    std::string folder{};              // where groups meet
    std::int64_t keep = 2;             // models of a group that stay there
    bool in_background = true;         // else training waits for the disk
    detail::checkpoint::disk files{};  // by which the disk is reached

    static constexpr bool by_each_rank = true;

    /// The folder of one group's models.
    std::string folder_of(int group) const;

    class state;
    state bind(const detail::meeting_place& place) const;

    void describe(auto&& field) const {
        field("folder", folder);
        field("keep", keep);
    }
};

/// What its options become on one rank.
class checkpoint_exchange::state {
public:
    state(const checkpoint_exchange& options, detail::model_groups groups);
    state(state&&) noexcept;
    /// Waits for what is being read and written.
    ~state();

    /// This rank writes for its group, until it ends, a model that has been trained for so many
    /// steps.
    void open(std::int64_t step);

    void publish(const detail::checkpoint::architecture& kind,
                 const detail::checkpoint::published_facts& facts,
                 std::span<const float> parameters, std::span<const float> buffers,
                 std::span<const int>);

    /// Whether what a group has published after a step has been read; else it is being read.
    bool ready(const detail::checkpoint::architecture& kind, int group, std::int64_t after);

    std::optional<detail::checkpoint::published_model> look(
        const detail::checkpoint::architecture& kind, int group, std::int64_t after);

    /// Why the last model could not be published; empty: it was.
    const std::string& problem() const noexcept { return problem_; }
    std::int64_t skipped() const noexcept { return skipped_; }
    /// Of weights, handed over to be written.
    std::int64_t bytes_sent() const noexcept { return bytes_sent_; }

private:
    struct background;

    bool is_idle();

    checkpoint_exchange options_;
    detail::model_groups groups_;
    std::optional<detail::checkpoint::folder_lock> lock_;  // of who writes
    std::unique_ptr<background> background_;
    std::string problem_;
    std::int64_t skipped_ = 0, bytes_sent_ = 0;
};
inline checkpoint_exchange::state checkpoint_exchange::bind(
    const detail::meeting_place& place) const {
    return state(*this, place.groups);
}

}  // namespace sotto

#ifndef SOTTO_SEPARATE_COMPILATION
#include "sotto/strategies/codistillation/exchanges/checkpoint_exchange.ipp"
#endif
