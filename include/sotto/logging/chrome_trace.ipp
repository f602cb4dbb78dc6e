#pragma once

#include "sotto/logging/chrome_trace.hpp"

#include <utility>

#include <nlohmann/json.hpp>

#include "sotto/core/clock.hpp"
#include "sotto/core/config.hpp"
#include "sotto/core/detail/files/absolute_path.hpp"
#include "sotto/core/detail/files/file_kind.hpp"
#include "sotto/core/detail/memory/finite.hpp"
#include "sotto/core/errors.hpp"
#include "sotto/core/layout.hpp"
#include "sotto/core/require_option.hpp"
#include "sotto/logging/detail/json_text.hpp"
#include "sotto/logging/run_log.hpp"
#include "sotto/trainer/model_path.hpp"

namespace sotto {

SOTTO_DECL chrome_trace::chrome_trace(const std::string& path, options chosen)
    : file_(detail::required_path("chrome_trace", path)),
      options_(chosen),
      complaint_(chosen.on_failure) {
    require_option("chrome_trace", "first_step", chosen.first_step, detail::allowed::at_least(1));
    require_option("chrome_trace", "steps", chosen.steps, detail::allowed::at_least(1));
}

SOTTO_DECL void chrome_trace::on_begin(const run_info& info) {
    if (info.over) return;
    names_.clear();
    for (const tensor& t : *info.parameters) names_.push_back(t.name);
    if (begun_) return;
    rank_ = info.rank;
    has_network_ = info.ranks() > 1;
    const std::string own = path_of_rank(file_.path(), rank_);
    if (own != file_.path()) file_ = detail::line_file(own);
    reason_to_stop(file_.open_empty(), "opened for writing");
    reason_to_stop(file_.write(head()), "written");
    begun_ = true;
}

SOTTO_DECL void chrome_trace::on_step(const step_report& report) {
    if (!begun_) return;
    const std::int64_t behind = ++steps_ - options_.first_step;
    if (behind < 0 || behind >= options_.steps) return;
    std::string text =
        report.round.tensor_times.size() == names_.size() ? by_tensors(report) : by_parts(report);
    if (text.empty()) return;
    text.pop_back();  // file_.write adds the last line's end
    const std::error_code reason = put(report.step, std::move(text));
    if (!reason) return complaint_.worked();
    ++lacks_;
    complaint_.failed(report.step, said("written", reason));
}

SOTTO_DECL void chrome_trace::on_end(const fit_report& report) {
    if (!begun_) return;
    const std::error_code reason = file_.look();
    if (detail::is_loss(reason)) lose(report.step, reason);
    if (const std::error_code late = file_.drain()) {
        ++lacks_;
        complaint_.failed(report.step, said("written", late));
    }
}

SOTTO_DECL std::string chrome_trace::incomplete() const {
    if (lacks_ > 0)
        return complaint_.last() + ": it lacks " + std::to_string(lacks_) +
               (lacks_ == 1 ? " step" : " steps");
    return is_lost_ ? complaint_.lost() : std::string();
}

SOTTO_DECL std::int64_t chrome_trace::row_of(std::size_t tensor) noexcept {
    return static_cast<std::int64_t>(tensor) + 1;
}

SOTTO_DECL std::string chrome_trace::head() const {
    std::string text = "[\n";
    put(text, {{"ph", "M"},
               {"name", "process_name"},
               {"pid", rank_},
               {"args", {{"name", "rank " + std::to_string(rank_)}}}});
    name_row(text, worker_row, "worker");
    text.pop_back();
    return text;
}

SOTTO_DECL void chrome_trace::lose(std::int64_t step, const std::error_code& reason) {
    is_lost_ |= reason != detail::file_fault::renamed;
    rows_named_ = false;
    complaint_.lost(step, reason == detail::file_fault::renamed
                              ? "chrome_trace: '" + file_.path() + "': " + reason.message() +
                                    "; the trace goes on in a new file"
                              : said("completed", reason));
}

SOTTO_DECL std::string chrome_trace::by_tensors(const step_report& report) {
    round_.take(report);
    const double began = in_seconds(report.round.began.time_since_epoch());
    std::string text;
    for (std::size_t i = 0; i < names_.size() && has_network_ && !rows_named_; ++i)
        name_row(text, row_of(i), "network: " + names_[i]);
    rows_named_ = true;
    for (const detail::worker_span& s : worker_spans(round_))
        put_span(text, worker_row, name_of(s.what),
                 s.tensor == detail::worker_span::no_tensor ? "step " + std::to_string(report.step)
                                                            : names_[s.tensor],
                 began, s.begin, s.end);
    for (std::size_t i = 0; i < names_.size() && has_network_; ++i)
        put_span(text, row_of(i), "exchange", names_[i], began, round_.tensors[i].left,
                 round_.tensors[i].arrived);
    return text;
}

SOTTO_DECL std::string chrome_trace::by_parts(const step_report& report) const {
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

SOTTO_DECL void chrome_trace::name_row(std::string& text, std::int64_t row,
                                       const std::string& name) const {
    put(text, {{"ph", "M"},
               {"name", "thread_name"},
               {"pid", rank_},
               {"tid", row},
               {"args", {{"name", name}}}});
}

SOTTO_DECL void chrome_trace::put_span(std::string& text, std::int64_t row, const char* what,
                                       const std::string& which, double began, double begin,
                                       double end) const {
    if (end <= begin) return;
    put(text, {{"ph", "X"},
               {"cat", what},
               {"name", std::string(what) + " " + which},
               {"pid", rank_},
               {"tid", row},
               {"ts", in_microseconds(began + begin)},
               {"dur", in_microseconds(end - begin)}});
}

SOTTO_DECL std::error_code chrome_trace::put(std::int64_t step, std::string text) {
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

SOTTO_DECL void chrome_trace::put(std::string& text, const object& event) {
    text += detail::json_text(event) + ",\n";
}

SOTTO_DECL std::string chrome_trace::said(const char* what, const std::error_code& reason) const {
    return "chrome_trace: '" + file_.path() + "' cannot be " + what + ": " + reason.message();
}

SOTTO_DECL void chrome_trace::reason_to_stop(const std::error_code& reason,
                                             const char* what) const {
    if (reason) throw io_failure(said(what, reason));
}

}  // namespace sotto
