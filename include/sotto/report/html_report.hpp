#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "sotto/logging/detail/write_failure.hpp"
#include "sotto/logging/run_recorder.hpp"
#include "sotto/report/report.hpp"

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
    explicit html_report(const std::string& path) : html_report(path, options{}) {}
    /// Into this file, as the options say; throws the same.
    explicit html_report(const std::string& path, options chosen);

    /// What is known of the run so far.
    const run_log& log() const noexcept { return recorder_.log(); }

    void on_begin(const run_info& info);

    void on_step(const step_report& report);

    void on_epoch(const epoch_report& report);

    void on_checkpoint(const checkpoint_report& report);

    void on_end(const fit_report& report);

    /// Why the last report of the run is not there; empty: it is.
    std::string incomplete() const;

private:
    void write() const;

    void try_to_write();

    /// What was trained is not to be lost where there is, say, no memory to try compressors out.
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
