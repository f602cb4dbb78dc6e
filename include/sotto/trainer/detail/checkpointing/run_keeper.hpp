#pragma once

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <limits>
#include <list>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <system_error>
#include <type_traits>
#include <utility>
#include <vector>

#include "sotto/checkpoint/detail/disk.hpp"
#include "sotto/checkpoint/detail/folder_owner.hpp"
#include "sotto/checkpoint/detail/generations.hpp"
#include "sotto/core/detail/files/absolute_path.hpp"
#include "sotto/core/errors.hpp"
#include "sotto/strategies/strategy.hpp"
#include "sotto/trainer/callback.hpp"
#include "sotto/trainer/checkpoints.hpp"
#include "sotto/trainer/detail/fit_progress.hpp"
#include "sotto/trainer/reports.hpp"
#include "sotto/trainer/resume_report.hpp"
#include "sotto/trainer/detail/checkpointing/resuming.hpp"
#include "sotto/trainer/detail/checkpointing/run_place.hpp"
#include "sotto/trainer/detail/checkpointing/saved_state.hpp"
#include "sotto/trainer/detail/checkpointing/saving.hpp"
#include "sotto/transports/transport_ref.hpp"

namespace sotto::detail {

/// The trainer's dealings with checkpoints. It refers to all that is to be saved. `Alike`: whether
/// all ranks hold the same parameters.
template <class Model, class State, bool Alike>
class run_keeper {
public:
    run_keeper(Model& model, State& state, std::span<float> parameters, learnt_so_far& learnt,
               transport_ref through, const std::string& configuration, std::uint64_t seed)
        : model_(model),
          state_(state),
          parameters_(parameters),
          learnt_(learnt),
          through_(through),
          configuration_(configuration),
          seed_(seed) {}

    /// How a call of `fit` that comes now begins: where an earlier process left it, was it over or
    /// under way there, or anew.
    fit_progress next_fit() const noexcept {
        const std::int64_t number = fits_ + 1;
        if (!resumed_ || number > resumed_->number) return {.number = number};
        if (number < resumed_->number) return {.number = number, .passed = true};
        return *resumed_;
    }

    /// Whether that one was begun by an earlier process.
    bool resumes() const noexcept { return resumed_ && fits_ < resumed_->number; }

    /// The ranks that wrote what was resumed; 0: nothing was.
    int world_size_before() const noexcept { return world_size_before_; }

    /// From now on the state is another than what was resumed, except in a call that is over.
    void begin_fit(const fit_progress& progress) noexcept {
        incomplete_.clear();
        if (!progress.passed) resumed_.reset();
    }
    void end_fit() noexcept { ++fits_; }

    /// Before anything is trained: can checkpoints be written where they are to go? From then on
    /// the folder is this trainer's, until that ends.
    template <class Extra>
    void require_folder(Extra& extra, const run_place& place) {
        if constexpr (saves<Extra>) {
            through_.at({.round = place.step, .phase = "preparing checkpoints"});
            const auto fields = fields_of(model_, state_, parameters_, Alike, learnt_);
            auto files = extra.files();
            const auto folder = folder_in(extra.folder());
            used_folder& used = used_at(folder);
            const bool is_new = !used.owner;
            if (is_new && through_.rank() == 0) {
                checkpoint::claimant who;
                if (!extra.chosen().job.empty()) who.job = extra.chosen().job;
                used.owner =
                    std::make_unique<checkpoint::folder_owner>(files, folder, std::move(who));
            }
            try {
                run_writer(through_, fields, place)
                    .require_place_for_it(files, folder, used.owner.get(), used.known,
                                          configuration_, seed_);
            } catch (...) {
                if (is_new) used.owner.reset();
                throw;
            }
            if (used.owner) used.owner->use(true);
        }
    }

    /// While it lives this process trains: until then another trainer of it may take over the
    /// folder of this one.
    class training {
    public:
        explicit training(run_keeper& keeper) noexcept : keeper_(&keeper) {}
        training(const training&) = delete;
        training& operator=(const training&) = delete;
        ~training() {
            for (used_folder& used : keeper_->used_)
                if (used.owner) used.owner->use(false);
        }

    private:
        run_keeper* keeper_;
    };

    /// `completed`: whole epochs, where one just ended. The last one of a `fit` is due unless it
    /// was written.
    template <class Extra, class Seconds, class... Told>
    void save_if_due(Extra& extra, const run_place& place, std::optional<std::int64_t> completed,
                     bool last, fit_report& whole, const Seconds& seconds, Told&... told) {
        if constexpr (saves<Extra>) {
            const auto folder = folder_in(extra.folder());
            if (last ? is_saved(folder, place.step) : !extra.due(place.step, completed)) return;
            through_.at({.round = place.step, .phase = "saving a checkpoint"});
            const auto fields = fields_of(model_, state_, parameters_, Alike, learnt_);
            auto files = extra.files();
            used_folder& used = used_at(folder);
            bool may_write = false;
            const auto why_not = [&] {
                std::string why = checkpoint::why_not_write(files, folder, *used.owner, used.known);
                may_write = why.empty();
                return why;
            };
            checkpoint_report report = run_writer(through_, fields, place)
                                           .write(files, folder, extra.chosen().keep,
                                                  configuration_, seed_, used.refused, why_not);
            if (may_write) checkpoint::note_written(files, folder, place.step, used.known);
            report.seconds = seconds();
            if (report.failure.empty()) {
                saved_step_ = place.step;
                saved_in_ = used.name;
                std::erase_if(used.refused, [&](const checkpoint::refused_file& one) {
                    return one.step == place.step;
                });
                ++whole.checkpoints;
                incomplete_.clear();
            } else {
                ++whole.checkpoints_failed;
                whole.checkpoint_failure = report.failure;
                incomplete_ =
                    "the checkpoint '" + report.path + "' was not written: " + report.failure;
                if (through_.rank() == 0 && extra.chosen().on_failure)
                    extra.chosen().on_failure(report);
            }
            (calling::checkpoint(told, report), ...);
        }
    }

    resume_report restore(const std::filesystem::path& where, bool required,
                          void (*on_damage)(const resume_report&), const checkpoint::disk& files,
                          run_place& place) {
        const auto folder = folder_in(absolute_path(where));
        through_.at({.round = place.step, .phase = "resuming"});
        const auto fields = fields_of(model_, state_, parameters_, Alike, learnt_);
        std::vector<int> senders;
        for (int rank = 0; rank < through_.size(); ++rank)
            senders.push_back(conducting::sender_for(state_, rank));
        resume_report report;
        std::vector<checkpoint::refused_file> newer;
        std::vector<std::int64_t> known;
        for (std::int64_t at_most = (std::numeric_limits<std::int64_t>::max)();;) {
            run_reader reader(through_, fields, senders);
            report = reader.read(files, folder, required, configuration_, place, torn_, at_most);
            newer = reader.refused();
            known = reader.listed();
            // A run may have ended between the checkpoints of two models.
            const auto [least, most] =
                conducting::range_of_models(state_, report.found ? report.step : -1);
            if (least == most) break;
            if (least < 0)
                throw mismatch("resume: of some models there is a checkpoint in '" +
                               where.string() + "', the newest of step " + std::to_string(most) +
                               ", and of others none: they cannot go on together");
            at_most = least;
        }
        if (!report.found) return report;
        resumed_ = fit_progress{.number = place.fit,
                                .epochs = place.fit_epochs,
                                .steps = place.fit_steps,
                                .stopped = place.fit_stopped != 0};
        world_size_before_ = report.world_size;
        used_folder& used = used_at(folder);
        saved_step_ = place.step;
        saved_in_ = used.name;
        used.refused = std::move(newer);
        used.known = std::move(known);
        used.known.push_back(report.step);
        if (through_.rank() == 0 && !report.refused.empty() && on_damage) on_damage(report);
        return report;
    }

    /// What the last call of `fit` could not save, a sentence each.
    std::vector<std::string> incomplete(const std::optional<server_report>& served) const {
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

    /// Refuses to go on with a state that is partly another's.
    void require_whole_state() const {
        if (!torn_.empty())
            throw io_failure(
                "trainer: resuming ended after it had begun to change parameters and state, which "
                "are now partly the checkpoint's: " +
                torn_ + "; resume again, or begin with a new trainer");
    }

private:
    template <class Extra>
    static constexpr bool saves = is_checkpoints<std::remove_cvref_t<Extra>>;

    /// A folder that checkpoints were read from or are written to.
    struct used_folder {
        std::filesystem::path name;
        std::vector<checkpoint::refused_file> refused{};  // when it was resumed from, of rank 0
        std::vector<std::int64_t>
            known{};  // steps of its checkpoints that are this run's, of rank 0
        std::unique_ptr<checkpoint::folder_claim> owner{};  // once it was written to, of rank 0
    };

    used_folder& used_at(const std::filesystem::path& folder) {
        const auto name = full_name(folder);
        const auto found = std::ranges::find(used_, name, &used_folder::name);
        return found != used_.end() ? *found : used_.emplace_back(used_folder{name});
    }

    /// Where several models are trained each has a folder of its own.
    std::filesystem::path folder_in(const std::filesystem::path& folder) const {
        const std::string name = conducting::model_name(state_);
        return name.empty() ? folder : folder / name;
    }

    /// The same for all ways to write a folder's absolute path.
    static std::filesystem::path full_name(const std::filesystem::path& folder) {
        const auto name = folder.lexically_normal();
        return name.has_filename() ? name : name.parent_path();
    }

    bool is_saved(const std::filesystem::path& folder, std::int64_t step) const {
        return saved_step_ == step && saved_in_ == full_name(folder);
    }

    Model& model_;
    State& state_;
    std::span<float> parameters_;
    learnt_so_far& learnt_;
    transport_ref through_;
    const std::string& configuration_;
    std::uint64_t seed_;
    std::int64_t fits_ = 0;                // that have ended
    std::optional<fit_progress> resumed_;  // and not trained since
    int world_size_before_ = 0;            // of what was resumed last
    std::string torn_;                     // how the last resume ended, if half-way

    std::list<used_folder> used_;
    std::int64_t saved_step_ = -1;  // of the last checkpoint written or resumed from
    std::filesystem::path saved_in_;
    std::string incomplete_;  // why the last checkpoint that was due is not there; or empty
};

}  // namespace sotto::detail
