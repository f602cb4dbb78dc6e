#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

#include "sotto/core/detail/files/absolute_path.hpp"
#include "sotto/core/clock.hpp"
#include "sotto/core/errors.hpp"
#include "sotto/core/detail/files/file_kind.hpp"
#include "sotto/core/detail/memory/finite.hpp"
#include "sotto/core/layout.hpp"
#include "sotto/core/detail/files/line_file.hpp"
#include "sotto/core/require_option.hpp"
#include "sotto/trainer/callback.hpp"
#include "sotto/logging/detail/json_text.hpp"
#include "sotto/trainer/model_path.hpp"
#include "sotto/logging/detail/round_times.hpp"
#include "sotto/logging/run_log.hpp"
#include "sotto/logging/detail/write_failure.hpp"

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
    explicit chrome_trace(const std::filesystem::path& path) : chrome_trace(path, options{}) {}
    /// Into this file, as the options say; throws the same.
    explicit chrome_trace(const std::filesystem::path& path, options chosen)
        : file_(detail::required_path("chrome_trace", path)),
          options_(chosen),
          complaint_(chosen.on_failure) {
        require_option("chrome_trace", "first_step", chosen.first_step,
                       detail::allowed::at_least(1));
        require_option("chrome_trace", "steps", chosen.steps, detail::allowed::at_least(1));
    }

    void on_begin(const run_info& info) {
        if (info.over) return;
        names_.clear();
        for (const tensor& t : *info.parameters) names_.push_back(t.name);
        if (begun_) return;
        rank_ = info.rank;
        has_network_ = info.ranks() > 1;
        const std::filesystem::path own = path_of_rank(file_.path(), rank_);
        if (own != file_.path()) file_ = detail::line_file(own);
        reason_to_stop(file_.open_empty(), "opened for writing");
        reason_to_stop(file_.write(head()), "written");
        begun_ = true;
    }

    void on_step(const step_report& report) {
        if (!begun_) return;
        const std::int64_t behind = ++steps_ - options_.first_step;
        if (behind < 0 || behind >= options_.steps) return;
        std::string text = report.round.tensor_times.size() == names_.size() ? by_tensors(report)
                                                                             : by_parts(report);
        if (text.empty()) return;
        text.pop_back();  // the last line's end is the file's to write
        const std::error_code reason = put(report.step, std::move(text));
        if (!reason) return complaint_.worked();
        ++lacks_;
        complaint_.failed(report.step, said("written", reason));
    }

    void on_end(const fit_report& report) {
        if (!begun_) return;
        const std::error_code reason = file_.look();
        if (detail::is_loss(reason)) lose(report.step, reason);
        if (const std::error_code late = file_.drain()) {
            ++lacks_;
            complaint_.failed(report.step, said("written", late));
        }
    }

    /// Why the file lacks steps that were to be drawn; empty: it has all of them.
    std::string incomplete() const {
        if (lacks_ > 0)
            return complaint_.last() + ": it lacks " + std::to_string(lacks_) +
                   (lacks_ == 1 ? " step" : " steps");
        return is_lost_ ? complaint_.lost() : std::string();
    }

private:
    using object = nlohmann::ordered_json;

    static constexpr std::int64_t worker_row = 0;
    static std::int64_t row_of(std::size_t tensor) noexcept {
        return static_cast<std::int64_t>(tensor) + 1;
    }
    static double in_microseconds(double seconds) noexcept { return 1e6 * seconds; }

    /// Before all steps, without its last line's end.
    std::string head() const {
        std::string text = "[\n";
        put(text, {{"ph", "M"},
                   {"name", "process_name"},
                   {"pid", rank_},
                   {"args", {{"name", "rank " + std::to_string(rank_)}}}});
        name_row(text, worker_row, "worker");
        text.pop_back();
        return text;
    }

    void lose(std::int64_t step, const std::error_code& reason) {
        is_lost_ |= reason != detail::file_fault::renamed;
        rows_named_ = false;
        complaint_.lost(step, reason == detail::file_fault::renamed
                                  ? "chrome_trace: '" + file_.path().string() + "': " +
                                        reason.message() + "; the trace goes on in a new file"
                                  : said("completed", reason));
    }

    std::string by_tensors(const step_report& report) {
        round_.take(report);
        const double began = in_seconds(report.round.began.time_since_epoch());
        std::string text;
        for (std::size_t i = 0; i < names_.size() && has_network_ && !rows_named_; ++i)
            name_row(text, row_of(i), "network: " + names_[i]);
        rows_named_ = true;
        for (const detail::worker_span& s : worker_spans(round_))
            put_span(text, worker_row, name_of(s.what),
                     s.tensor == detail::worker_span::no_tensor
                         ? "step " + std::to_string(report.step)
                         : names_[s.tensor],
                     began, s.begin, s.end);
        for (std::size_t i = 0; i < names_.size() && has_network_; ++i)
            put_span(text, row_of(i), "exchange", names_[i], began, round_.tensors[i].left,
                     round_.tensors[i].arrived);
        return text;
    }

    /// Of a strategy that tells no times of tensors: one thing after the other.
    std::string by_parts(const step_report& report) const {
        std::string text;
        const double began = clock_of(report.round);
        if (!detail::is_finite(began)) return text;
        double now = 0.0;
        for (const detail::part_of_time& part :
             timed_step_of(report.step, detail::costs_of(report.round)).parts()) {
            put_span(text, worker_row, part.name, "step " + std::to_string(report.step), began, now,
                     now + part.seconds);
            now += part.seconds;
        }
        return text;
    }

    void name_row(std::string& text, std::int64_t row, const std::string& name) const {
        put(text, {{"ph", "M"},
                   {"name", "thread_name"},
                   {"pid", rank_},
                   {"tid", row},
                   {"args", {{"name", name}}}});
    }

    void put_span(std::string& text, std::int64_t row, const char* what, const std::string& which,
                  double began, double begin, double end) const {
        if (end <= begin) return;
        put(text, {{"ph", "X"},
                   {"cat", what},
                   {"name", std::string(what) + " " + which},
                   {"pid", rank_},
                   {"tid", row},
                   {"ts", in_microseconds(began + begin)},
                   {"dur", in_microseconds(end - begin)}});
    }

    /// A file that took the place of one that was lost needs a head of its own.
    std::error_code put(std::int64_t step, std::string text) {
        if (!lacks_head_) {
            const std::error_code reason = file_.write(text);
            if (!detail::is_loss(reason)) return reason;
            lose(step, reason);
            lacks_head_ = true;
        }
        if (const std::error_code reason = file_.write(head())) return reason;
        lacks_head_ = false;
        return file_.write(std::move(text));
    }

    static void put(std::string& text, const object& event) {
        text += detail::json_text(event) + ",\n";
    }

    std::string said(const char* what, const std::error_code& reason) const {
        return "chrome_trace: '" + file_.path().string() + "' cannot be " + what + ": " +
               reason.message();
    }
    void reason_to_stop(const std::error_code& reason, const char* what) const {
        if (reason) throw io_failure(said(what, reason));
    }

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
