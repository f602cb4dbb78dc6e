#pragma once

#include <cstddef>
#include <span>
#include <string>

#include "sotto/logging/detail/report_text.hpp"
#include "sotto/logging/detail/run_ranks.hpp"
#include "sotto/logging/run_log.hpp"

namespace sotto::detail::reporting {

/// Returns the names of the first runs with a property: "a", "a and b", "a, b and c".
inline std::string names_where(std::span<const run_log> runs, auto&& is_so) {
    constexpr std::size_t names_max = 8;
    std::string out, last;
    std::size_t count = 0;
    for (const run_log& run : runs) {
        if (!is_so(run) || ++count > names_max) continue;
        if (!last.empty()) out += (out.empty() ? "" : ", ") + last;
        last = escaped(run.name, 60);
    }
    if (count > names_max) last += ", and " + std::to_string(count - names_max) + " more";
    return out.empty() ? last : out + " and " + last;
}

/// Returns the ranks of a run that serve, by its options.
serving_ranks serving_of(const run_log& run) noexcept;

/// True if the log's rank trains and serves. Its sent and received bytes then cover both, also what
/// it did for other ranks after its own last step.
bool serves_too(const run_log& run) noexcept;

/// True if bytes of two runs' ranks are comparable: neither serves, or both serve in runs with as
/// many servers.
bool serve_alike(const run_log& a, const run_log& b) noexcept;

/// Suffix of a number of bytes of such a rank; empty for others.
std::string serving_included(const run_log& run);

/// Remark on bytes of several runs: which include serving; empty if none.
std::string said_of_serving(std::span<const run_log> runs);

/// True if all times are of a simulated network.
bool all_simulated(std::span<const run_log> runs) noexcept;

/// Returns the clock of an axis of seconds.
const char* unit_of_time(std::span<const run_log> runs) noexcept;

/// Suffix of a time that is simulated.
const char* simulated_word(const run_log& run) noexcept;

/// Remark on several times: which are simulated; empty if none.
std::string said_of_times(std::span<const run_log> runs);

/// Names the simulated networks of the runs.
std::string simulated_networks(std::span<const run_log> runs);

/// Returns the examples of a training loss, as a short remark.
std::string whose_loss(const run_log& run);

/// The same for several runs, as the title of a chart.
std::string whose_loss(std::span<const run_log> runs);

/// Returns whose model an evaluation measured, as a short remark.
std::string whose_model(const run_log& run);

/// Explains the curves of loss and accuracy.
std::string said_of_losses(std::span<const run_log> runs);

}  // namespace sotto::detail::reporting

#ifndef SOTTO_SEPARATE_COMPILATION
#include "sotto/report/detail/sections/report_terms.ipp"
#endif
