#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "sotto/logging/detail/write_failure.hpp"
#include "sotto/logging/run_recorder.hpp"
#include "sotto/report/report.hpp"

namespace sotto {

/// Writes a run's report at the end of `fit` and periodically before, with a page that reloads
/// itself. Only rank 0 writes. If the job trains several models, the first rank of each model
/// writes its own file, see path_of_model. If passed to `fit` again, it continues the same run. A
/// call of `fit` that an earlier process had completed leaves the report unchanged.
///
/// During training, a report that cannot be written does not end the run: on_failure is called, the
/// older report remains, and the next one is tried when due.
///   cost    a step as run_recorder; a report O(points and tensors), of all runs, and its file
///   errors  on_begin: see write_report. invalid_option: an empty path, a negative interval
class html_report {
public:
    /// When a report is written during training, and what it includes.
    struct options {
        std::string name = "this run";  // name of the run in the report
        double every_seconds = 30.0;    // period, at the next step; 0: not by time
        std::int64_t every_epochs = 0;  // period in epochs; 0: not by epochs
        std::vector<run_log> beside{};  // other runs, as from read_json_lines; drawn first
        /// First part of a continued run, as from read_json_lines_if_there. Not used if `fit`
        /// begins at step 0.
        std::optional<run_log> earlier{};
        report_options report{};  // options; calibrates only at the end of `fit`
        /// Called when reports begin to fail; may be null.
        void (*on_failure)(const detail::write_failure&) = detail::complain_of_writing;
    };

    /// Writes to `path`; throws invalid_option if the path is empty.
    explicit html_report(const std::string& path) : html_report(path, options{}) {}
    /// Writes to `path`; throws invalid_option: an empty path, a negative interval.
    explicit html_report(const std::string& path, options chosen);

    /// Returns the run so far.
    const run_log& log() const noexcept { return recorder_.log(); }

    void on_begin(const run_info& info);

    void on_step(const step_report& report);

    void on_epoch(const epoch_report& report);

    void on_checkpoint(const checkpoint_report& report);

    void on_end(const fit_report& report);

    /// Returns why the last report of the run is missing; empty if it was written.
    std::string incomplete() const;

private:
    void write() const;

    void try_to_write();

    /// Catches exceptions: a failed calibration, such as one without memory, must not lose the
    /// training.
    void calibrate();

    std::string path_;
    options options_;
    run_recorder recorder_;
    detail::complaint complaint_;
    bool calibrates_;
    bool writes_ = false;
    bool begun_ = false;
    double next_ = 0.0;
};

}  // namespace sotto

#ifndef SOTTO_SEPARATE_COMPILATION
#include "sotto/report/html_report.ipp"
#endif
