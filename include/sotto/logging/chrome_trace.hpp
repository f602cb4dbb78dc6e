#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <system_error>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "sotto/core/detail/files/line_file.hpp"
#include "sotto/logging/detail/round_times.hpp"
#include "sotto/logging/detail/write_failure.hpp"
#include "sotto/trainer/callback.hpp"

namespace sotto {

/// Writes a timeline of training steps in Chrome's trace format, for chrome://tracing and
/// ui.perfetto.dev. Each rank is a process. It has one row for its thread and one row for each
/// tensor in flight, so overlap is visible. An empty stretch of the thread's row is waiting. A
/// single worker has no network rows. If a strategy has no times per tensor, such as
/// parameter_server, the only row shows each step as load, compute, compress, wait and apply.
///
/// Rank r > 0 writes to PATH.rankr. To see the ranks of one machine side by side, by one clock,
/// concatenate their files. Remove the first line, a "[", of all but the first:
/// `(cat trace.json; tail -qn +2 trace.json.rank*) > all.json`.
///
/// If the same object is passed to `fit` again, it continues to count its steps. A run that another
/// process resumes starts a new trace. A call of `fit` that an earlier process had completed leaves
/// the old trace.
///
/// A full or failing disk does not end training: steps that cannot be written are skipped. If the
/// file is removed, renamed or shortened during training, on_failure is called once. Later steps
/// are then written to a file of that name. fit_report::incomplete reports missing steps.
///
/// The path may be a device or a FIFO, as for json_lines. All ranks write to one device.
///   wire    an array of events without its end, as the format allows; a step is written as whole
///           lines
///   errors  on_begin throws io_failure, naming the file and the system's reason, if it cannot open
///           or write the file; invalid_option: first_step or steps below 1
class chrome_trace {
public:
    /// Selects the steps to draw.
    struct options {
        /// First step to draw, counted from 1 where the trace begins. The default skips step 1,
        /// which allocates memory and is not typical.
        std::int64_t first_step = 2;
        std::int64_t steps = 10;  // number of steps to draw
        /// Called when the trace begins to skip steps; may be null.
        void (*on_failure)(const detail::write_failure&) = detail::complain_of_writing;
    };

    /// Writes to `path`; throws invalid_option if the path is empty.
    explicit chrome_trace(const std::string& path) : chrome_trace(path, options{}) {}
    /// Writes to `path`; throws invalid_option if the path is empty, or first_step or steps is
    /// below 1.
    explicit chrome_trace(const std::string& path, options chosen);

    void on_begin(const run_info& info);

    void on_step(const step_report& report);

    void on_end(const fit_report& report);

    /// Returns why the file lacks steps; empty if it is complete.
    std::string incomplete() const;

private:
    using object = nlohmann::ordered_json;

    static constexpr std::int64_t worker_row = 0;
    static std::int64_t row_of(std::size_t tensor) noexcept;
    static double in_microseconds(double seconds) noexcept { return 1e6 * seconds; }

    /// The lines before all steps, without the last line's end.
    std::string head() const;

    void lose(std::int64_t step, const std::error_code& reason);

    std::string by_tensors(const step_report& report);

    /// For a strategy without times per tensor: shows the parts of the step one after another.
    std::string by_parts(const step_report& report) const;

    void name_row(std::string& text, std::int64_t row, const std::string& name) const;

    void put_span(std::string& text, std::int64_t row, const char* what, const std::string& which,
                  double began, double begin, double end) const;

    /// Writes a step. A file that replaces a lost one gets its own head first.
    std::error_code put(std::int64_t step, std::string text);

    static void put(std::string& text, const object& event);

    std::string said(const char* what, const std::error_code& reason) const;
    void reason_to_stop(const std::error_code& reason, const char* what) const;

    detail::line_file file_;
    options options_;
    detail::complaint complaint_;
    int rank_ = 0;
    bool has_network_ = false;
    bool begun_ = false;
    bool rows_named_ = false;  // true: the network rows have names
    bool is_lost_ = false;     // true: part of the trace was lost
    bool lacks_head_ = false;  // true: the replacement file still needs its head
    std::int64_t lacks_ = 0;   // number of steps that are missing
    std::int64_t steps_ = 0;   // steps since the trace began
    std::vector<std::string> names_;
    detail::round_times round_;
};

}  // namespace sotto

#ifndef SOTTO_SEPARATE_COMPILATION
#include "sotto/logging/chrome_trace.ipp"
#endif
