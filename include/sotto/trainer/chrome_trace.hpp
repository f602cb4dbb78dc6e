#pragma once

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

#include "sotto/core/clock.hpp"
#include "sotto/core/errors.hpp"
#include "sotto/core/layout.hpp"
#include "sotto/trainer/callback.hpp"
#include "sotto/trainer/line_file.hpp"

namespace sotto {

struct chrome_trace_options {
    std::int64_t first_step = 2;  // the first one takes memory, and is not like the others
    std::int64_t steps = 10;
};

/// Draws when each tensor was computed, compressed, under way and added up: a file in Chrome's
/// trace format, which chrome://tracing and ui.perfetto.dev open. One process for each rank, with a
/// row for what its thread does and one for each tensor on the network, so that what overlaps is
/// seen. Rank r > 0 writes to PATH.rankr; put together, the files of one machine show its ranks
/// side by side, by one clock.
///   errors  io_failure, naming the file and the system's reason, when it cannot be opened or
///           written; invalid_option: a first step or a number of steps below 1
class chrome_trace {
public:
    explicit chrome_trace(std::filesystem::path path, chrome_trace_options options = {})
        : file_(std::move(path)), options_(options) {
        if (options.first_step < 1 || options.steps < 1)
            throw invalid_option("chrome_trace: " + std::to_string(options.steps) +
                                 " steps from step " + std::to_string(options.first_step) +
                                 " on; both are counted from 1");
    }

    void on_begin(const run_info& info) {
        if (info.over) return;
        rank_ = info.rank;
        if (names_.empty() && rank_ != 0)
            file_ = detail::line_file(file_.path().string() + ".rank" + std::to_string(rank_));
        names_.clear();
        for (const tensor& t : *info.parameters) names_.push_back(t.name);
        check(file_.open_empty(), "opened for writing");
        put_raw("[");  // the format's own readers take an array without its end
        put({{"ph", "M"},
             {"name", "process_name"},
             {"pid", rank_},
             {"args", {{"name", "rank " + std::to_string(rank_)}}}});
        name_row(0, "worker");
        for (std::size_t i = 0; i < names_.size(); ++i)
            name_row(row_of(i), "network: " + names_[i]);
    }

    void on_step(const step_report& report) {
        const round_report& round = report.round;
        if (report.step < options_.first_step ||
            report.step >= options_.first_step + options_.steps || round.tensor_times.empty())
            return;
        std::vector<std::size_t> by_time(names_.size());
        for (std::size_t i = 0; i < by_time.size(); ++i) by_time[i] = i;
        const auto& times = round.tensor_times;
        std::sort(by_time.begin(), by_time.end(),
                  [&](std::size_t a, std::size_t b) { return times[a].left < times[b].left; });
        duration worker{};  // until when its row is drawn
        for (const std::size_t i : by_time) {
            if (times[i].ready > worker)
                span(round, 0, "compute", names_[i], worker, times[i].ready);
            worker = std::max(worker, times[i].ready);
            span(round, 0, "compress", names_[i], worker, times[i].left);
            worker = times[i].left;
            span(round, row_of(i), "exchange", names_[i], times[i].left, times[i].arrived);
        }
        for (const tensor_times& of : times) worker = std::max(worker, of.arrived);
        for (std::size_t i = 0; i < names_.size(); ++i) {
            span(round, 0, "decode", names_[i], worker, times[i].decoded);
            worker = std::max(worker, times[i].decoded);
        }
        span(round, 0, "apply", "step " + std::to_string(report.step), worker,
             worker + round.apply);
    }

private:
    using object = nlohmann::ordered_json;

    static std::int64_t row_of(std::size_t tensor) noexcept {
        return static_cast<std::int64_t>(tensor) + 1;
    }
    static double in_microseconds(duration time) noexcept { return 1e6 * in_seconds(time); }

    void name_row(std::int64_t row, const std::string& name) {
        put({{"ph", "M"},
             {"name", "thread_name"},
             {"pid", rank_},
             {"tid", row},
             {"args", {{"name", name}}}});
    }

    void span(const round_report& round, std::int64_t row, const char* what,
              const std::string& which, duration begin, duration end) {
        if (end <= begin) return;
        put({{"ph", "X"},
             {"cat", what},
             {"name", std::string(what) + " " + which},
             {"pid", rank_},
             {"tid", row},
             {"ts", in_microseconds(round.began.time_since_epoch() + begin)},
             {"dur", in_microseconds(end - begin)}});
    }

    void put(const object& event) {
        put_raw(event.dump(-1, ' ', false, object::error_handler_t::replace) + ",");
    }
    void put_raw(std::string line) { check(file_.write(std::move(line)), "written"); }

    void check(const std::error_code& reason, const char* what) const {
        if (reason)
            throw io_failure("chrome_trace: '" + file_.path().string() + "' cannot be " + what +
                             ": " + reason.message());
    }

    detail::line_file file_;
    chrome_trace_options options_;
    int rank_ = 0;
    std::vector<std::string> names_;
};

}  // namespace sotto
