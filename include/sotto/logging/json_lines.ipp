#pragma once

#include "sotto/logging/json_lines.hpp"

#include <filesystem>
#include <utility>

#include <nlohmann/json.hpp>

#include "sotto/core/config.hpp"
#include "sotto/core/detail/files/absolute_path.hpp"
#include "sotto/core/detail/files/file_kind.hpp"
#include "sotto/core/detail/memory/finite.hpp"
#include "sotto/core/errors.hpp"
#include "sotto/core/require_option.hpp"
#include "sotto/logging/detail/consensus_lines.hpp"
#include "sotto/logging/detail/json_text.hpp"
#include "sotto/logging/detail/peak_memory.hpp"
#include "sotto/logging/detail/run_consensus.hpp"
#include "sotto/logging/detail/server_lines.hpp"
#include "sotto/logging/run_log.hpp"
#include "sotto/trainer/detail/run_description.hpp"
#include "sotto/trainer/model_path.hpp"

namespace sotto {

SOTTO_DECL json_lines::json_lines(const std::string& path, options chosen)
    : file_(detail::required_path("json_lines", path)),
      options_(chosen),
      complaint_(chosen.on_failure),
      first_line_(std::make_shared<object>()) {
    require_option("json_lines", "every_steps", chosen.every_steps, detail::allowed::at_least(1));
    std::error_code ignored;
    was_there_ = std::filesystem::exists(file_.path(), ignored);
    // Fails early: before the program reads its data.
    if (const std::error_code reason = file_.try_out()) fail("opened for writing", reason);
}

SOTTO_DECL void json_lines::on_begin(const run_info& info) {
    if (!info.model.empty() && !begun_) leave_to_nobody();
    writes_ = (info.leads() || options_.every_rank) && !info.over;
    if (!writes_) return file_.close();
    if (!begun_) {
        const std::string own =
            path_of_rank(path_of_model(file_.path(), info.model), info.leads() ? 0 : info.rank);
        if (own != file_.path()) file_ = detail::line_file(own);
        const bool goes_on = options_.append || info.steps_before > 0 || info.steps_at_servers > 0;
        const std::error_code reason = goes_on ? file_.open_at_end() : file_.open_empty();
        if (reason) fail("opened for writing", reason);
    }
    begun_ = true;
    taught_.begin();
    recent_.begin(info);
    object tensors = object::array();
    for (const tensor& t : *info.parameters)
        tensors.push_back({{"name", t.name}, {"shape", t.shape}, {"size", t.size}});
    object line{{"event", "run"},
                {"rank", info.rank},
                {"world_size", info.world_size},
                {"epochs", info.epochs},
                {"examples", info.examples},
                {"steps_an_epoch", info.steps_an_epoch},
                {"step", info.steps_before + info.steps_at_servers},
                {"options", fields_of(info.description)},
                {"tensors", std::move(tensors)}};
    if (info.serves) line["server_memory"] = detail::fields_of_memory(*info.serves);
    line["in_step"] = info.in_step;
    if (!info.simulated_network.empty()) line["simulated_network"] = info.simulated_network;
    if (!info.model.empty()) {
        line["model"] = info.model;
        line["model_ranks"] = info.model_ranks;
    }
    if (info.mixing) line["mixing"] = detail::fields_of_graph(*info.mixing);
    *first_line_ = std::move(line);
    last_step_ = info.steps_before + info.steps_at_servers;
    const std::error_code reason = put(*first_line_, last_step_);
    if (reason) fail("written", reason);
}

SOTTO_DECL void json_lines::on_step(const step_report& report) {
    if (!writes_) return;
    recent_.add(report);
    const bool is_taught = taught_.count(report.round.taught);
    const std::int64_t before = std::exchange(last_step_, report.step);
    if (report.step % options_.every_steps != 0) return;
    object line{{"event", "step"},
                {"step", report.step},
                {"epoch", report.epoch},
                {"seconds_since_start", report.seconds},
                {"rank_loss", report.round.loss}};
    add_costs(line, report.round);
    if (const double clock = clock_of(report.round); detail::is_finite(clock))
        line["began_seconds"] = clock;
    line["tensor_message_bytes"] = report.round.tensor_message_bytes;
    if (detail::consensus_means::tells(report.round.consensus))
        line["consensus"] = detail::fields_of_consensus(report.round.consensus);
    if (is_taught) line["taught"] = taught_.fields_of(report.round.taught);
    write(line, report.step, before);
}

SOTTO_DECL void json_lines::on_epoch(const epoch_report& report) {
    if (!writes_) return;
    object line{{"event", "epoch"},
                {"epoch", report.epoch},
                {"complete", report.complete},
                {"step", report.step},
                {"seconds_since_start", report.seconds},
                {"loss", report.loss}};
    add_evaluation(line, report.evaluated);
    add_costs_of_steps(line, report.total);
    line["peak_memory_bytes"] = detail::peak_memory_bytes();
    write(line, report.step);
    if (const detail::round_times* round = recent_.typical()) write(line_of(*round), report.step);
    if (report.served) write(detail::line_of_server(*report.served), report.step);
}

SOTTO_DECL void json_lines::on_checkpoint(const checkpoint_report& report) {
    if (!writes_) return;
    object line{{"event", "checkpoint"},
                {"step", report.step},
                {"seconds_since_start", report.seconds},
                {"path", report.path}};
    if (!report.failure.empty()) line["failure"] = report.failure;
    write(line, report.step);
}

SOTTO_DECL void json_lines::on_end(const fit_report& report) {
    if (!writes_) return;
    if (report.served) write(detail::line_of_server(*report.served), report.step);
    object line{{"event", "end"},
                {"epochs", report.epochs},
                {"steps", report.steps},
                {"step", report.step},
                {"seconds_since_start", report.seconds},
                {"stopped_early", report.stopped_early},
                {"loss", report.loss}};
    add_evaluation(line, report.evaluated);
    add_costs_of_steps(line, report.total);
    line["peak_memory_bytes"] = detail::peak_memory_bytes();
    if (!report.losses.empty()) line["losses"] = detail::fields_of_losses(report.losses);
    write(line, report.step);
    if (const std::error_code reason = file_.drain()) leave_out(report.step, reason);
}

SOTTO_DECL std::string json_lines::incomplete() const {
    if (lacks_ > 0)
        return complaint_.last() + ": it lacks " + std::to_string(lacks_) +
               (lacks_ == 1 ? " line" : " lines");
    return is_lost_ ? complaint_.lost() : std::string();
}

SOTTO_DECL json_lines::object json_lines::fields_of(std::string_view text) {
    object fields = object::object();
    detail::for_each_option(text, [&](std::string_view name, std::string_view value) {
        fields[std::string(name)] = value;
    });
    return fields;
}

SOTTO_DECL json_lines::object json_lines::line_of(const detail::round_times& round) {
    const auto of_tensors = [&](double detail::round_times::of_tensor::*time) {
        object seconds = object::array();
        for (const detail::round_times::of_tensor& t : round.tensors) seconds.push_back(t.*time);
        return seconds;
    };
    using of_tensor = detail::round_times::of_tensor;
    return {{"event", "round"},
            {"step", round.step},
            {"ready_seconds", of_tensors(&of_tensor::ready)},
            {"left_seconds", of_tensors(&of_tensor::left)},
            {"arrived_seconds", of_tensors(&of_tensor::arrived)},
            {"decoded_seconds", of_tensors(&of_tensor::decoded)},
            {"agreed_seconds", round.agreed},
            {"ended_seconds", round.ended},
            {"apply_seconds", round.apply}};
}

SOTTO_DECL void json_lines::add_costs(object& line, const round_report& round) {
    line["examples"] = round.examples;
    line["load_seconds"] = in_seconds(round.load);
    line["compute_seconds"] = in_seconds(round.compute);
    line["compress_seconds"] = in_seconds(round.compress);
    line["wait_seconds"] = in_seconds(round.wait);
    line["apply_seconds"] = in_seconds(round.apply);
    line["exchange_seconds"] = in_seconds(round.exchange);
    line["hidden_seconds"] = in_seconds(round.hidden);
    line["dense_bytes"] = round.dense_bytes;
    line["message_bytes"] = round.message_bytes;
    line["bytes_sent"] = round.bytes_sent;
    line["bytes_received"] = round.bytes_received;
    if (round.study_bytes > 0) line["study_bytes"] = round.study_bytes;
}

SOTTO_DECL void json_lines::add_costs_of_steps(object& line, const round_report& sum) {
    add_costs(line, sum);
    if (sum.taught.listening > duration::zero())
        line["listening_seconds"] = in_seconds(sum.taught.listening);
}

SOTTO_DECL void json_lines::add_evaluation(object& line, const std::optional<evaluation>& found) {
    if (!found) return;
    line["test_loss"] = found->loss;
    line["test_accuracy"] = found->accuracy;
    line["test_examples"] = found->examples;
    if (!found->own) return;
    for (const auto& [name, ranks] : {std::pair{"own_test_loss", &found->own->loss},
                                      std::pair{"own_test_accuracy", &found->own->accuracy}})
        line[name] = {{"least", ranks->least}, {"mean", ranks->mean}, {"most", ranks->most}};
}

SOTTO_DECL void json_lines::write(const object& line, std::int64_t step,
                                  std::optional<std::int64_t> before) {
    const std::error_code reason = put(line, before.value_or(step));
    if (!reason) return complaint_.worked();
    taught_.forget();
    leave_out(step, reason);
}

SOTTO_DECL void json_lines::leave_out(std::int64_t step, const std::error_code& reason) {
    ++skipped_;
    ++lacks_;
    skipped_because_ = reason.message();
    complaint_.failed(step, said("written", reason));
}

SOTTO_DECL std::error_code json_lines::put(const object& line, std::int64_t before) {
    if (!lacks_run_line_) {
        const std::error_code reason = put_behind_skipped(line);
        if (!detail::is_loss(reason)) return reason;
        is_lost_ |= reason != detail::file_fault::renamed;
        complaint_.lost(before,
                        what_happened(reason) + (reason == detail::file_fault::shortened
                                                     ? "; the run goes on in what is left of it"
                                                     : "; the run goes on in a new one"));
        taught_.forget();
        lacks_run_line_ = true;
    }
    (*first_line_)["step"] = before;
    if (const std::error_code again = file_.write(detail::json_text(*first_line_))) return again;
    lacks_run_line_ = false;
    return &line == first_line_.get() ? std::error_code() : put_behind_skipped(line);
}

SOTTO_DECL std::error_code json_lines::put_behind_skipped(const object& line) {
    if (skipped_ > 0) {
        const std::error_code reason = file_.write(detail::json_text(
            {{"event", "skipped"}, {"lines", skipped_}, {"reason", skipped_because_}}));
        if (reason) return reason;
        skipped_ = 0;
    }
    return file_.write(detail::json_text(line));
}

SOTTO_DECL void json_lines::leave_to_nobody() const noexcept {
    std::error_code ignored;
    if (!was_there_ && std::filesystem::is_empty(file_.path(), ignored) && !ignored)
        std::filesystem::remove(file_.path(), ignored);
}

SOTTO_DECL std::string json_lines::what_happened(const std::error_code& reason) const {
    if (reason != detail::file_fault::renamed) return said("completed", reason);
    return "json_lines: '" + file_.path() + "': " + reason.message();
}

SOTTO_DECL std::string json_lines::said(const char* what, const std::error_code& reason) const {
    return "json_lines: '" + file_.path() + "' cannot be " + what + ": " + reason.message();
}

SOTTO_DECL void json_lines::fail(const char* what, const std::error_code& reason) const {
    throw io_failure(said(what, reason));
}

}  // namespace sotto
