#pragma once

#include "sotto/logging/consensus_maxima.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string>

#include "sotto/core/config.hpp"
#include "sotto/core/detail/memory/finite.hpp"
#include "sotto/core/errors.hpp"
#include "sotto/logging/detail/run_consensus.hpp"
#include "sotto/logging/read_json_lines.hpp"

namespace sotto {

SOTTO_DECL std::vector<detail::recorded_maximum> consensus_maxima(
    const run_log& run, std::span<const double> from_epochs) {
    if (from_epochs.empty() || from_epochs.front() != 0.0)
        throw invalid_option("consensus_maxima: from_epochs has no phase that begins at epoch 0");
    for (std::size_t i = 0; i < from_epochs.size(); ++i)
        if (!detail::is_finite(from_epochs[i]) || from_epochs[i] != std::floor(from_epochs[i]) ||
            from_epochs[i] > 0x1p52 || (i > 0 && from_epochs[i - 1] >= from_epochs[i]))
            throw invalid_option("consensus_maxima: phase " + std::to_string(i) +
                                 " begins at epoch " + std::to_string(from_epochs[i]) +
                                 "; phases begin at whole epochs and ascend");
    std::int64_t end = 0;  // of the run, in half epochs
    for (const detail::half_epoch& h : run.consensus.halves) end = (std::max)(end, h.number + 1);

    std::vector<detail::recorded_maximum> maxima;
    for (std::size_t i = 0; i < from_epochs.size(); ++i) {
        const bool is_last = i + 1 == from_epochs.size();
        const auto from = static_cast<std::int64_t>(2.0 * from_epochs[i]);
        const std::int64_t to =
            is_last ? (std::max)(end, from) : static_cast<std::int64_t>(2.0 * from_epochs[i + 1]);
        const std::int64_t settled = from + (to - from) / 2;
        detail::measured_mean squares;
        for (const detail::half_epoch& h : run.consensus.halves)
            if (h.number >= settled && h.number < to) squares.merge(h.squares);
        if (squares.count == 0)
            throw error(errc::malformed,
                        "consensus_maxima: run '" + run.name +
                            "' has no distance that was measured exactly in the second half of the "
                            "phase from epoch " +
                            std::to_string(from / 2) + " on" +
                            (is_last ? std::string() : ", before epoch " + std::to_string(to / 2)) +
                            "; expected a log of gossip with gossip_options{.measure_every = 1}");
        maxima.push_back({from_epochs[i], std::sqrt(squares.value())});
    }
    return maxima;
}

SOTTO_DECL std::vector<detail::recorded_maximum> consensus_maxima(
    const std::string& log, std::span<const double> from_epochs) {
    return consensus_maxima(read_json_lines(log), from_epochs);
}

SOTTO_DECL std::vector<detail::recorded_maximum> consensus_maxima(
    const std::string& log, std::initializer_list<double> from_epochs) {
    return consensus_maxima(log, std::span(from_epochs.begin(), from_epochs.size()));
}

}  // namespace sotto
