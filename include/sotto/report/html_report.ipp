#pragma once

#include "sotto/report/html_report.hpp"

#include <algorithm>
#include <exception>
#include <utility>

#include "sotto/core/config.hpp"
#include "sotto/core/detail/files/absolute_path.hpp"
#include "sotto/core/errors.hpp"
#include "sotto/core/require_option.hpp"
#include "sotto/report/calibrated_advice.hpp"
#include "sotto/trainer/model_path.hpp"

namespace sotto {

SOTTO_DECL html_report::html_report(const std::string& path, options chosen)
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

SOTTO_DECL void html_report::on_begin(const run_info& info) {
    writes_ = info.leads() && !info.over;
    if (!writes_) return;
    if (!std::exchange(begun_, true)) path_ = path_of_model(path_, info.model);
    if (options_.earlier && log().fits == 0 && info.steps_before > 0)
        recorder_ = run_recorder(options_.name, *std::move(options_.earlier));
    options_.earlier.reset();
    recorder_.on_begin(info);
    next_ = options_.every_seconds;
    write();  // fails early: before hours of training
}

SOTTO_DECL void html_report::on_step(const step_report& report) {
    if (!writes_) return;
    recorder_.on_step(report);
    if (options_.every_seconds <= 0.0 || report.seconds < next_) return;
    try_to_write();
    next_ = report.seconds + options_.every_seconds;
}

SOTTO_DECL void html_report::on_epoch(const epoch_report& report) {
    if (!writes_) return;
    recorder_.on_epoch(report);
    if (options_.every_epochs > 0 && report.epoch % options_.every_epochs == 0) try_to_write();
}

SOTTO_DECL void html_report::on_checkpoint(const checkpoint_report& report) {
    if (writes_) recorder_.on_checkpoint(report);
}

SOTTO_DECL void html_report::on_end(const fit_report& report) {
    if (!writes_) return;
    recorder_.on_end(report);
    if (calibrates_) calibrate();
    try_to_write();
}

SOTTO_DECL std::string html_report::incomplete() const {
    return complaint_.is_failing() ? complaint_.last() : std::string();
}

SOTTO_DECL void html_report::write() const {
    if (options_.beside.empty()) return write_report(log(), path_, options_.report);
    std::vector<run_log> runs = options_.beside;
    runs.push_back(log());
    write_report(runs, path_, options_.report);
}

SOTTO_DECL void html_report::try_to_write() {
    try {
        write();
        complaint_.worked();
    } catch (const io_failure& e) {
        complaint_.failed(log().last_step, e.what());
    }
}

SOTTO_DECL void html_report::calibrate() {
    try {
        options_.report.advised =
            calibrated_advice(log(), options_.report.link.value_or(network_link{}));
        options_.report.calibrate = options_.report.advised.has_value();
    } catch (const std::exception& e) {
        complaint_.failed(log().last_step,
                          std::string("html_report: calibrating failed: ") + e.what());
    }
}

}  // namespace sotto
