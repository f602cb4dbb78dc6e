#pragma once

#include <algorithm>
#include <cstdint>
#include <exception>
#include <filesystem>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "sotto/core/detail/files/absolute_path.hpp"
#include "sotto/core/errors.hpp"
#include "sotto/core/require_option.hpp"
#include "sotto/trainer/model_path.hpp"
#include "sotto/report/report.hpp"
#include "sotto/report/calibrated_advice.hpp"
#include "sotto/logging/run_recorder.hpp"
#include "sotto/logging/detail/write_failure.hpp"

namespace sotto {

/// Writes a run's report at the end of `fit`, and while it goes on, so that it can be looked at at
/// any time: the page then reloads itself. A call of `fit` that an earlier process had completed
/// leaves the report as it is. Rank 0 alone; where several models are trained at once, the first
/// rank of each in a file of its own, see path_of_model. Given to `fit` again, it goes on with the
/// same run.
/// Once training is under way, a report that cannot be written does not end it: on_failure is
/// called, the older one stays, and the next is tried when it is due.
///   cost    a step as run_recorder; a report O(points and tensors), of all runs, and its file
///   errors  on_begin: see write_report. invalid_option: an empty path, a negative interval
class html_report {
public:
    /// How often a report is written while training goes on, and what else is in it.
    struct options {
        std::string name = "this run";  // of the run, in the report
        double every_seconds = 30.0;    // at the next step; 0: not by time
        std::int64_t every_epochs = 0;  // 0: not by epochs
        std::vector<run_log> beside{};  // other runs, such as from read_json_lines: drawn first
        /// What is known of the run that this one goes on with, as from read_json_lines_if_there:
        /// its first part. Not used where `fit` begins at step 0.
        std::optional<run_log> earlier{};
        report_options report{};  // compressors are calibrated at the end of `fit` alone
        /// Called when reports begin not to be written; null: nothing is.
        void (*on_failure)(const detail::write_failure&) = detail::complain_of_writing;
    };

    /// Into this file.
    explicit html_report(const std::filesystem::path& path) : html_report(path, options{}) {}
    /// Into this file, as the options say; throws the same.
    explicit html_report(const std::filesystem::path& path, options chosen)
        : path_(detail::required_path("html_report", path)),
          options_(std::move(chosen)),
          recorder_(options_.name),
          complaint_(options_.on_failure),
          calibrates_(std::exchange(options_.report.calibrate, false) && !options_.report.advised) {
        require_option("html_report", "every_seconds", options_.every_seconds,
                       detail::allowed::at_least(0.0));
        require_option("html_report", "every_epochs", options_.every_epochs,
                       detail::allowed::at_least(0));
        require_option("html_report", "reload_seconds", options_.report.reload_seconds,
                       detail::allowed::at_least(0));
        if (options_.report.link) check_link("html_report", *options_.report.link);
        if (options_.report.reload_seconds == 0 && options_.every_seconds > 0.0)
            options_.report.reload_seconds =
                static_cast<int>(std::clamp(options_.every_seconds, 5.0, 3600.0));
    }

    /// What is known of the run so far.
    const run_log& log() const noexcept { return recorder_.log(); }

    void on_begin(const run_info& info) {
        writes_ = info.leads() && !info.over;
        if (!writes_) return;
        if (!std::exchange(begun_, true)) path_ = path_of_model(path_, info.model);
        if (options_.earlier && log().fits == 0 && info.steps_before > 0)
            recorder_ = run_recorder(options_.name, *std::move(options_.earlier));
        options_.earlier.reset();
        recorder_.on_begin(info);
        next_ = options_.every_seconds;
        write();  // now, not after hours of training: can it be written?
    }

    void on_step(const step_report& report) {
        if (!writes_) return;
        recorder_.on_step(report);
        if (options_.every_seconds <= 0.0 || report.seconds < next_) return;
        try_to_write();
        next_ = report.seconds + options_.every_seconds;
    }

    void on_epoch(const epoch_report& report) {
        if (!writes_) return;
        recorder_.on_epoch(report);
        if (options_.every_epochs > 0 && report.epoch % options_.every_epochs == 0) try_to_write();
    }

    void on_checkpoint(const checkpoint_report& report) {
        if (writes_) recorder_.on_checkpoint(report);
    }

    void on_end(const fit_report& report) {
        if (!writes_) return;
        recorder_.on_end(report);
        if (calibrates_) calibrate();
        try_to_write();
    }

    /// Why the last report of the run is not there; empty: it is.
    std::string incomplete() const {
        return complaint_.is_failing() ? complaint_.last() : std::string();
    }

private:
    void write() const {
        if (options_.beside.empty()) return write_report(log(), path_, options_.report);
        std::vector<run_log> runs = options_.beside;
        runs.push_back(log());
        write_report(runs, path_, options_.report);
    }

    void try_to_write() {
        try {
            write();
            complaint_.worked();
        } catch (const io_failure& e) {
            complaint_.failed(log().last_step, e.what());
        }
    }

    /// What was trained is not to be lost where there is, say, no memory to try compressors out.
    void calibrate() {
        try {
            options_.report.advised =
                calibrated_advice(log(), options_.report.link.value_or(network_link{}));
            options_.report.calibrate = options_.report.advised.has_value();
        } catch (const std::exception& e) {
            complaint_.failed(log().last_step,
                              std::string("html_report: calibrating failed: ") + e.what());
        }
    }

    std::filesystem::path path_;
    options options_;
    run_recorder recorder_;
    detail::complaint complaint_;
    bool calibrates_;
    bool writes_ = false;
    bool begun_ = false;
    double next_ = 0.0;
};

}  // namespace sotto
