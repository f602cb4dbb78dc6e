#pragma once

#include "sotto/logging/run_recorder.hpp"

#include <algorithm>
#include <string_view>

#include "sotto/core/config.hpp"
#include "sotto/logging/detail/peak_memory.hpp"
#include "sotto/logging/detail/round_times.hpp"
#include "sotto/trainer/callback.hpp"
#include "sotto/trainer/detail/run_description.hpp"

namespace sotto {

SOTTO_DECL run_recorder::run_recorder(std::string name, run_log earlier)
    : log_(std::move(earlier)) {
    log_.name = std::move(name);
}

SOTTO_DECL void run_recorder::on_begin(const run_info& info) {
    run_log::start start{.rank = info.rank,
                         .world_size = info.world_size,
                         .steps_before = info.steps_before + info.steps_at_servers,
                         .steps_an_epoch = info.steps_an_epoch,
                         .examples = info.examples,
                         .serves = info.serves,
                         .mixing = info.mixing,
                         .in_step = info.in_step,
                         .simulated_network = info.simulated_network,
                         .model = info.model,
                         .model_ranks = info.model_ranks};
    detail::for_each_option(info.description, [&](std::string_view name, std::string_view value) {
        start.options.emplace_back(name, value);
    });
    for (const tensor& t : *info.parameters)
        start.tensors.push_back({.name = t.name, .shape = t.shape, .size = t.size});
    recent_.begin(info);
    log_.reserve();
    log_.begin(std::move(start));
}

SOTTO_DECL void run_recorder::on_step(const step_report& report) {
    log_.add(run_log::step{.number = report.step,
                           .epoch = report.epoch,
                           .seconds = report.seconds,
                           .loss = report.round.loss,
                           .costs = detail::costs_of(report.round),
                           .clock = clock_of(report.round),
                           .consensus = report.round.consensus,
                           .taught = report.round.taught,
                           .tensor_message_bytes = report.round.tensor_message_bytes});
    recent_.add(report);
}

SOTTO_DECL void run_recorder::on_epoch(const epoch_report& report) {
    log_.add(run_log::finished_epoch{.epoch = report.epoch,
                                     .step = report.step,
                                     .complete = report.complete,
                                     .seconds = report.seconds,
                                     .loss = report.loss,
                                     .evaluated = report.evaluated,
                                     .costs = detail::costs_of(report.total)});
    if (report.served) log_.add(*report.served);
    if (const detail::round_times* round = recent_.typical()) log_.typical_round = *round;
    log_.peak_memory_bytes =
        (std::max)(log_.peak_memory_bytes, static_cast<double>(detail::peak_memory_bytes()));
}

SOTTO_DECL void run_recorder::on_checkpoint(const checkpoint_report& report) {
    if (!report.failure.empty())
        log_.diagnostics.push_back({report.step, "the checkpoint '" + report.path +
                                                     "' was not written: " + report.failure});
}

SOTTO_DECL void run_recorder::on_end(const fit_report& report) {
    if (report.served) log_.add(*report.served);
    log_.end(report.seconds, report.stopped_early, report.evaluated,
             detail::costs_of(report.total));
    log_.losses = report.losses;
    log_.peak_memory_bytes =
        (std::max)(log_.peak_memory_bytes, static_cast<double>(detail::peak_memory_bytes()));
}

}  // namespace sotto
