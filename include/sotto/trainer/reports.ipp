#pragma once

#include "sotto/trainer/reports.hpp"

#include <cstddef>
#include <utility>

#include "sotto/core/clock.hpp"
#include "sotto/core/config.hpp"
#include "sotto/core/errors.hpp"

namespace sotto::detail {

SOTTO_DECL void add_sentence(std::vector<std::string>& to, std::string sentence) {
    if (!sentence.empty()) to.push_back(std::move(sentence));
}

}  // namespace sotto::detail

namespace sotto {

SOTTO_DECL void require_complete_output(std::span<const std::string> incomplete) {
    if (incomplete.empty()) return;
    const std::size_t more = incomplete.size() - 1;
    throw output_incomplete("output is incomplete: " + incomplete.front() +
                            (more == 0 ? "" : "; and " + std::to_string(more) + " more"));
}

SOTTO_DECL void require_complete_output(const fit_report& report) {
    require_complete_output(report.incomplete);
}

SOTTO_DECL void accumulate_costs(round_report& total, const round_report& part) noexcept {
    total.examples += part.examples;
    total.load += part.load;
    total.compute += part.compute;
    total.compress += part.compress;
    total.wait += part.wait;
    total.apply += part.apply;
    total.exchange += part.exchange;
    total.hidden += part.hidden;
    total.taught.listening += part.taught.listening;
    total.taught.bytes_sent += part.taught.bytes_sent;
    total.taught.skipped += part.taught.skipped;
    total.dense_bytes += part.dense_bytes;
    total.message_bytes += part.message_bytes;
    total.bytes_sent += part.bytes_sent;
    total.bytes_received += part.bytes_received;
    total.study_bytes += part.study_bytes;
}

SOTTO_DECL void accumulate(round_report& total, const round_report& part) noexcept {
    if (const std::int64_t examples = total.examples + part.examples; examples > 0)
        total.loss = (total.loss * static_cast<double>(total.examples) +
                      part.loss * static_cast<double>(part.examples)) /
                     static_cast<double>(examples);
    accumulate_costs(total, part);
}

}  // namespace sotto
