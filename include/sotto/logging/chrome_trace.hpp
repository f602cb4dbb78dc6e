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

/// Draws when each tensor was computed, compressed, under way and added up: a file in Chrome's
/// trace format, which chrome://tracing and ui.perfetto.dev open. One process for each rank, with a
/// row for what its thread does and one for each tensor on the network, so that what overlaps is
/// seen; where the worker's row is empty, it waits. A single worker has no rows of the network. A
/// strategy that does not tell tensors apart, such as parameter_server, has the one row, where a
/// step is load, compute, compress, wait and apply.
///
/// Rank r > 0 writes to PATH.rankr. Put together, those of one machine show its ranks side by side,
/// by one clock: the files one after the other, all but the first without their first line, a "[".
/// As by `(cat trace.json; tail -qn +2 trace.json.rank*) > all.json`.
///
/// Given to `fit` again, it goes on counting its steps; a run that is resumed by another process
/// begins a new trace, and a call of `fit` that an earlier process had completed leaves the old
/// one. Once training is under way a disk that is full or fails does not end it: steps that cannot
/// be written are left out. Where the file is removed, renamed or shortened meanwhile, on_failure
/// is called once, and later steps go to a new file of that name. If steps are missing in the end,
/// fit_report::incomplete says so.
///
/// A device or a FIFO takes the trace, too, as json_lines's. All ranks write to one device.
///   wire    an array of events without its end, which the format allows: a step that is written
///           is whole lines
///   errors  on_begin throws io_failure, naming the file and the system's reason, when it cannot
///           be opened or written; invalid_option: a first step or a number of steps below 1
class chrome_trace {
public:
    /// Which steps are drawn.
    struct options {
        /// Counted from 1 where the trace begins; the first takes memory, and is not like the
        /// others.
        std::int64_t first_step = 2;
        std::int64_t steps = 10;  // that are drawn
        /// Called when steps begin to be left out; null: nothing is.
        void (*on_failure)(const detail::write_failure&) = detail::complain_of_writing;
    };

    /// Into this file; throws invalid_option: an empty path, or no step to draw from 1 on.
    explicit chrome_trace(const std::string& path) : chrome_trace(path, options{}) {}
    /// Into this file, as the options say; throws the same.
    explicit chrome_trace(const std::string& path, options chosen);

    void on_begin(const run_info& info);

    void on_step(const step_report& report);

    void on_end(const fit_report& report);

    /// Why the file lacks steps that were to be drawn; empty: it has all of them.
    std::string incomplete() const;

private:
    using object = nlohmann::ordered_json;

    static constexpr std::int64_t worker_row = 0;
    static std::int64_t row_of(std::size_t tensor) noexcept;
    static double in_microseconds(double seconds) noexcept { return 1e6 * seconds; }

    /// Before all steps, without its last line's end.
    std::string head() const;

    void lose(std::int64_t step, const std::error_code& reason);

    std::string by_tensors(const step_report& report);

    /// Of a strategy that tells no times of tensors: one thing after the other.
    std::string by_parts(const step_report& report) const;

    void name_row(std::string& text, std::int64_t row, const std::string& name) const;

    void put_span(std::string& text, std::int64_t row, const char* what, const std::string& which,
                  double began, double begin, double end) const;

    /// A file that took the place of one that was lost needs a head of its own.
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
    bool rows_named_ = false;  // those of the network
    bool is_lost_ = false;     // what had been written
    bool lacks_head_ = false;  // the file that took its place
    std::int64_t lacks_ = 0;   // steps
    std::int64_t steps_ = 0;   // since then
    std::vector<std::string> names_;
    detail::round_times round_;
};

}  // namespace sotto

#ifndef SOTTO_SEPARATE_COMPILATION
#include "sotto/logging/chrome_trace.ipp"
#endif
