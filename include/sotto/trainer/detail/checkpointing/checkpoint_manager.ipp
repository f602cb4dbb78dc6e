#pragma once

#include "sotto/trainer/detail/checkpointing/checkpoint_manager.hpp"

#include <algorithm>
#include <filesystem>
#include <limits>
#include <list>
#include <utility>

#include "sotto/checkpoint/detail/folder_owner.hpp"
#include "sotto/checkpoint/detail/generations.hpp"
#include "sotto/checkpoint/detail/saved_fields.hpp"
#include "sotto/core/config.hpp"
#include "sotto/core/detail/files/absolute_path.hpp"
#include "sotto/core/detail/files/join_path.hpp"
#include "sotto/core/errors.hpp"
#include "sotto/trainer/detail/checkpointing/checkpoint_reader.hpp"
#include "sotto/trainer/detail/checkpointing/checkpoint_writer.hpp"

namespace sotto::detail {

/// A folder that checkpoints were read from or are written to.
struct checkpoint_manager::used_folder {
    std::filesystem::path name;
    std::vector<checkpoint::refused_file> refused{};  // at the last resume; on rank 0
    std::vector<std::int64_t> known{};  // steps of this run's checkpoints in it; on rank 0
    std::unique_ptr<checkpoint::folder_claim> owner{};  // set when the folder is written; on rank 0
};

/// All folders of a run, and the last checkpoint written or resumed from.
struct checkpoint_manager::folders {
    std::list<used_folder> used;
    std::int64_t saved_step = -1;
    std::filesystem::path saved_in;

    /// Returns one name for all spellings of a folder's absolute path.
    static std::filesystem::path full_name(const std::string& folder) {
        const auto name = std::filesystem::path(folder).lexically_normal();
        return name.has_filename() ? name : name.parent_path();
    }

    used_folder& at(const std::string& folder) {
        const auto name = full_name(folder);
        const auto found = std::ranges::find(used, name, &used_folder::name);
        return found != used.end() ? *found : used.emplace_back(used_folder{name});
    }
};

SOTTO_DECL checkpoint_manager::checkpoint_manager(saved_run& run, transport_ref through,
                                                  const std::string& configuration,
                                                  std::uint64_t seed)
    : run_(run),
      through_(through),
      configuration_(configuration),
      seed_(seed),
      folders_(std::make_unique<folders>()) {}

SOTTO_DECL checkpoint_manager::~checkpoint_manager() = default;

SOTTO_DECL fit_progress checkpoint_manager::next_fit() const noexcept {
    const std::int64_t number = fits_ + 1;
    if (!resumed_ || number > resumed_->number) return {.number = number};
    if (number < resumed_->number) return {.number = number, .passed = true};
    return *resumed_;
}

SOTTO_DECL bool checkpoint_manager::resumes() const noexcept {
    return resumed_ && fits_ < resumed_->number;
}

SOTTO_DECL int checkpoint_manager::world_size_before() const noexcept {
    return world_size_before_;
}

SOTTO_DECL void checkpoint_manager::begin_fit(const fit_progress& progress) noexcept {
    incomplete_.clear();
    if (!progress.passed) resumed_.reset();
}

SOTTO_DECL void checkpoint_manager::end_fit() noexcept {
    ++fits_;
}

SOTTO_DECL void checkpoint_manager::require_folder(const checkpoints& asked,
                                                   const training_position& place) {
    through_.at({.round = place.step, .phase = "preparing checkpoints"});
    saved_fields fields;
    run_.show(fields);
    const auto files = asked.files();
    const auto folder = folder_in(asked.folder());
    used_folder& used = folders_->at(folder);
    const bool is_new = !used.owner;
    if (is_new && through_.rank() == 0) {
        checkpoint::claimant who;
        if (!asked.chosen().job.empty()) who.job = asked.chosen().job;
        used.owner = std::make_unique<checkpoint::folder_owner>(files, folder, std::move(who));
    }
    try {
        checkpoint_writer(through_, fields, place)
            .require_place_for_it(files, folder, used.owner.get(), used.known, configuration_,
                                  seed_);
    } catch (...) {
        if (is_new) used.owner.reset();
        throw;
    }
    if (used.owner) used.owner->use(true);
}

SOTTO_DECL checkpoint_manager::training::~training() {
    for (used_folder& used : keeper_->folders_->used)
        if (used.owner) used.owner->use(false);
}

SOTTO_DECL bool checkpoint_manager::is_due(const checkpoints& asked, const training_position& place,
                                           std::optional<std::int64_t> completed, bool last) const {
    if (!last) return asked.due(place.step, completed);
    return folders_->saved_step != place.step ||
           folders_->saved_in != folders::full_name(folder_in(asked.folder()));
}

SOTTO_DECL checkpoint_report checkpoint_manager::save(const checkpoints& asked,
                                                      const training_position& place) {
    const auto folder = folder_in(asked.folder());
    through_.at({.round = place.step, .phase = "saving a checkpoint"});
    saved_fields fields;
    run_.show(fields);
    const auto files = asked.files();
    used_folder& used = folders_->at(folder);
    bool may_write = false;
    const auto why_not = [&] {
        std::string why = checkpoint::why_not_write(files, folder, *used.owner, used.known);
        may_write = why.empty();
        return why;
    };
    checkpoint_report report = checkpoint_writer(through_, fields, place)
                                   .write(files, folder, asked.chosen().keep, configuration_, seed_,
                                          used.refused, why_not);
    if (may_write) checkpoint::note_written(files, folder, place.step, used.known);
    if (!report.failure.empty()) return report;
    folders_->saved_step = place.step;
    folders_->saved_in = used.name;
    std::erase_if(used.refused,
                  [&](const checkpoint::refused_file& one) { return one.step == place.step; });
    return report;
}

SOTTO_DECL void checkpoint_manager::note(const checkpoints& asked, const checkpoint_report& report,
                                         fit_report& whole) {
    if (report.failure.empty()) {
        ++whole.checkpoints;
        incomplete_.clear();
        return;
    }
    ++whole.checkpoints_failed;
    whole.checkpoint_failure = report.failure;
    incomplete_ = "the checkpoint '" + report.path + "' was not written: " + report.failure;
    if (through_.rank() == 0 && asked.chosen().on_failure) asked.chosen().on_failure(report);
}

SOTTO_DECL resume_report checkpoint_manager::restore(const std::string& where, bool required,
                                                     void (*on_damage)(const resume_report&),
                                                     const checkpoint::disk& files,
                                                     training_position& place) {
    const auto folder = folder_in(absolute_path(where));
    through_.at({.round = place.step, .phase = "resuming"});
    saved_fields fields;
    run_.show(fields);
    std::vector<int> senders;
    for (int rank = 0; rank < through_.size(); ++rank) senders.push_back(run_.sender_for(rank));
    resume_report report;
    std::vector<checkpoint::refused_file> newer;
    std::vector<std::int64_t> known;
    for (std::int64_t at_most = (std::numeric_limits<std::int64_t>::max)();;) {
        checkpoint_reader reader(through_, fields, senders);
        report = reader.read(files, folder, required, configuration_, place, torn_, at_most);
        newer = reader.refused();
        known = reader.listed();
        // A run may have ended between the checkpoints of two models.
        const auto [least, most] = run_.range_of_models(report.found ? report.step : -1);
        if (least == most) break;
        if (least < 0)
            throw mismatch("resume: of some models there is a checkpoint in '" + where +
                           "', the newest of step " + std::to_string(most) +
                           ", and of others none: they cannot go on together");
        at_most = least;
    }
    if (!report.found) return report;
    resumed_ = fit_progress{.number = place.fit,
                            .epochs = place.fit_epochs,
                            .steps = place.fit_steps,
                            .stopped = place.fit_stopped != 0};
    world_size_before_ = report.world_size;
    used_folder& used = folders_->at(folder);
    folders_->saved_step = place.step;
    folders_->saved_in = used.name;
    used.refused = std::move(newer);
    used.known = std::move(known);
    used.known.push_back(report.step);
    if (through_.rank() == 0 && !report.refused.empty() && on_damage) on_damage(report);
    return report;
}

SOTTO_DECL std::vector<std::string> checkpoint_manager::incomplete(
    const std::optional<server_report>& served) const {
    std::vector<std::string> all;
    add_sentence(all, incomplete_);
    if (!served) return all;
    if (const auto& kept = served->saves;
        kept && kept->failed > 0 && kept->last_step < served->version)
        all.push_back("what the server holds was not saved in '" + kept->folder +
                      "': " + kept->failure);
    add_sentence(all, served->record_failure);
    return all;
}

SOTTO_DECL void checkpoint_manager::require_whole_state() const {
    if (!torn_.empty())
        throw io_failure(
            "trainer: resuming ended after it had begun to change parameters and state, which "
            "are now partly the checkpoint's: " +
            torn_ + "; resume again, or begin with a new trainer");
}

SOTTO_DECL std::string checkpoint_manager::folder_in(const std::string& folder) const {
    const std::string name = run_.model_name();
    return name.empty() ? folder : join_path(folder, name);
}

}  // namespace sotto::detail
