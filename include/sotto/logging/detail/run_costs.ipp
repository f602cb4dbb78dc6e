#pragma once

#include "sotto/logging/detail/run_costs.hpp"

#include "sotto/core/config.hpp"

namespace sotto::detail {

SOTTO_DECL void run_costs::add(const run_costs& other, double times) noexcept {
    each(other, [times](double& sum, double part) { sum += times * part; });
}

SOTTO_DECL run_costs costs_of(const round_report& round) noexcept {
    return {.examples = static_cast<double>(round.examples),
            .load = in_seconds(round.load),
            .compute = in_seconds(round.compute),
            .compress = in_seconds(round.compress),
            .wait = in_seconds(round.wait),
            .apply = in_seconds(round.apply),
            .exchange = in_seconds(round.exchange),
            .hidden = in_seconds(round.hidden),
            .listening = in_seconds(round.taught.listening),
            .dense_bytes = static_cast<double>(round.dense_bytes),
            .message_bytes = static_cast<double>(round.message_bytes),
            .bytes_sent = static_cast<double>(round.bytes_sent),
            .bytes_received = static_cast<double>(round.bytes_received),
            .study_bytes = static_cast<double>(round.study_bytes)};
}

}  // namespace sotto::detail
