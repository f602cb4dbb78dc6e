#pragma once

#include <optional>
#include <span>
#include <string>

#include "sotto/logging/run_log.hpp"
#include "sotto/report/advice.hpp"

namespace sotto {

/// Content of a report besides its runs.
struct report_options {
    std::string title = "Training report";  // title of the page
    /// The network of the runs, existing or planned: marked in the crossover chart and used for the
    /// advice.
    std::optional<network_link> link{};
    /// From `advise` with calibrated compressors; if empty, the report compares the runs' own
    /// measurements.
    std::optional<advice> advised{};
    /// Calibrates the usual compressors when the report is written, if there is no advice: see
    /// calibrated_advice. Takes seconds, and 16 bytes a weight besides the compressors' own memory.
    bool calibrate = false;
    int reload_seconds = 0;  // interval of reloads during the last run; 0: none
};

/// Parts of a report: texts, tables and charts of runs.
namespace reporting {

/// Returns all options, those with differences between runs first.
std::string configuration(std::span<const run_log> runs);

/// Returns events that a reader should know, failures first.
std::string diagnostics(std::span<const run_log> runs);

/// Returns the whole page.
std::string page(std::span<const run_log> runs, const report_options& options);

}  // namespace reporting

/// Writes a report that compares some runs: one HTML file without scripts or other files. A crash
/// leaves the old or the new file, never a partial one: it is written as PATH.unfinished and
/// renamed. If PATH is a link, its target is replaced and the link remains. A device, FIFO, socket
/// or folder is refused. Missing folders of the path are created.
///   cost    curves have at most 400 points, tables at most 400 rows: 3 runs of 100,000 steps make
///           less than 1 MiB
///   errors  throws io_failure, naming the file and the system's reason; an older report then
///           remains. invalid_option: an empty path; see network_link. With `calibrate`, see
///           calibrated_advice
void write_report(std::span<const run_log> runs, const std::string& path,
                  const report_options& options = {});

/// The same for one run.
void write_report(const run_log& run, const std::string& path, const report_options& options = {});

}  // namespace sotto

#ifndef SOTTO_SEPARATE_COMPILATION
#include "sotto/report/report.ipp"
#endif
