#pragma once

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <type_traits>
#include <utility>

#include "sotto/checkpoint/file_system.hpp"
#include "sotto/trainer/callback.hpp"
#include "sotto/trainer/checkpoints.hpp"
#include "sotto/trainer/options.hpp"
#include "sotto/trainer/reports.hpp"
#include "sotto/trainer/resuming.hpp"
#include "sotto/trainer/saved_state.hpp"
#include "sotto/trainer/saving.hpp"

namespace sotto::detail {

/// How far a call of `fit` is, what an earlier process did of it included.
struct fit_progress {
    std::int64_t epochs = 0, steps = 0;

    bool ends(const training_length& length) const noexcept {
        return epochs >= length.epochs_max || steps >= length.steps_max;
    }
    std::int64_t epochs_left(const training_length& length) const noexcept {
        return left(length.epochs_max, epochs);
    }
    std::int64_t steps_left(const training_length& length) const noexcept {
        return left(length.steps_max, steps);
    }

private:
    /// What has no bound still has none.
    static std::int64_t left(std::int64_t most, std::int64_t done) noexcept {
        if (most == std::numeric_limits<std::int64_t>::max()) return most;
        return std::max<std::int64_t>(most - done, 0);
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

/// The trainer's dealings with checkpoints. It refers to all that is to be saved.
template <class Model, class State, class Transport>
class run_keeper {
public:
    run_keeper(Model& model, State& state, std::span<float> parameters, Transport& through,
               const std::string& configuration, std::uint64_t seed)
        : model_(model),
          state_(state),
          parameters_(parameters),
          through_(through),
          configuration_(configuration),
          seed_(seed) {}

    /// `fit` begins; whether it goes on with one of an earlier process.
    bool begin_fit(fit_progress& progress) noexcept {
        const bool resumed = std::exchange(resumed_, false);
        if (!resumed) progress = {};
        return resumed;
    }

    /// Before anything is trained: can checkpoints be written where they are to go?
    template <class Extra>
    void require_folder(Extra& extra, std::int64_t step) {
        if constexpr (saves<Extra>) {
            auto files = extra.files();
            require_own_folder(through_, files, extra.folder(), step,
                               extra.folder() == resumed_from_);
        }
    }

    /// `completed`: whole epochs, where one just ended.
    template <class Extra, class Seconds, class... Told>
    void save_if_due(Extra& extra, const run_place& place, std::optional<std::int64_t> completed,
                     bool last, fit_report& whole, const Seconds& seconds, Told&... told) {
        if constexpr (saves<Extra>) {
            if (!last && !extra.due(place.step, completed)) return;
            through_.at({.round = place.step, .phase = "saving a checkpoint"});
            const auto fields = fields_of(model_, state_, parameters_);
            auto files = extra.files();
            checkpoint_report report =
                run_writer(through_, fields, place)
                    .write(files, extra.folder(), extra.options().keep, configuration_, seed_);
            report.seconds = seconds();
            saved_step_ = place.step;
            if (report.failure.empty()) {
                ++whole.checkpoints;
            } else {
                ++whole.checkpoints_failed;
                whole.checkpoint_failure = report.failure;
                if (through_.rank() == 0 && extra.options().on_failure)
                    extra.options().on_failure(report);
            }
            (calling::checkpoint(told, report), ...);
        }
    }

    template <checkpoint::file_system Files>
    resume_report restore(const std::filesystem::path& folder, bool required, Files& files,
                          run_place& place) {
        through_.at({.round = place.step, .phase = "resuming"});
        const auto fields = fields_of(model_, state_, parameters_);
        resume_report report =
            run_reader(through_, fields).read(files, folder, required, configuration_, place);
        if (report.found) {
            saved_step_ = place.step;
            resumed_from_ = folder;
            resumed_ = true;
        }
        return report;
    }

    bool saved_at(std::int64_t step) const noexcept { return saved_step_ == step; }

private:
    template <class Extra>
    static constexpr bool saves = is_checkpoints<std::remove_cvref_t<Extra>>;

    Model& model_;
    State& state_;
    std::span<float> parameters_;
    Transport& through_;
    const std::string& configuration_;
    std::uint64_t seed_;
    std::int64_t saved_step_ = -1;  // of the last checkpoint
    std::filesystem::path resumed_from_;
    bool resumed_ = false;  // and not trained since
};

}  // namespace sotto::detail
