#pragma once

#include <optional>
#include <span>
#include <string>

#include "sotto/logging/run_log.hpp"
#include "sotto/report/advice.hpp"

namespace sotto {

/// What a report has besides its runs.
struct report_options {
    std::string title = "Training report";  // of the page
    /// The network that the runs go, or are to go, over: marked in the crossover, and advised for.
    std::optional<network_link> link{};
    /// From `advise` with calibrated compressors; left out, what the runs measured is compared.
    std::optional<advice> advised{};
    /// Calibrates the usual compressors when the report is written, if there is no advice: see
    /// calibrated_advice. Takes seconds, and 16 bytes a weight besides the compressors' own memory.
    bool calibrate = false;
    int reload_seconds =
        0;  // the page reloads itself so often while the last run goes on; 0: never
};

/// What a report is made of: texts, tables and drawings of runs.
namespace reporting {

/// Options that differ between runs first, then all of them.
std::string configuration(std::span<const run_log> runs);

/// Things that a reader would otherwise not know: first what went wrong.
std::string diagnostics(std::span<const run_log> runs);

/// The whole page.
std::string page(std::span<const run_log> runs, const report_options& options);

}  // namespace reporting

/// Writes a report of some runs, beside each other: one HTML file that needs nothing else, no
/// script and no network. It appears whole or not at all: it is written under another name,
/// PATH.unfinished, and renamed. Where PATH is a link, the file that it stands for is replaced and
/// the link stays; a device, FIFO, socket or folder is refused.
///   cost    curves have at most 400 points, tables at most 400 rows: 3 runs of 100,000 steps make
///           less than 1 MiB
/// Folders on the way that are not there are made.
///   errors  throws io_failure, naming the file and the system's reason; an older report is then
///           still there. invalid_option: an empty path; see network_link. With `calibrate`,
///           see calibrated_advice
void write_report(std::span<const run_log> runs, const std::string& path,
                  const report_options& options = {});

/// Of one run.
void write_report(const run_log& run, const std::string& path, const report_options& options = {});

}  // namespace sotto

#ifndef SOTTO_SEPARATE_COMPILATION
#include "sotto/report/report.ipp"
#endif
