#pragma once

#include <cstddef>
#include <span>
#include <string>

#include "sotto/logging/detail/report_text.hpp"
#include "sotto/logging/detail/run_ranks.hpp"
#include "sotto/logging/run_log.hpp"

namespace sotto::detail::reporting {

/// "a", "a and b", "a, b and c": names of the runs of which something is so, of many the first.
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

/// Which ranks of a run serve, by its options.
serving_ranks serving_of(const run_log& run) noexcept;

/// Whether the rank whose log it is trains and serves: what it sent and received is then of both,
/// and of what it did for others when it had no steps left to do.
bool serves_too(const run_log& run) noexcept;

/// Whether bytes that two runs' ranks sent are of the same: neither serves, or both do, each one of
/// as many servers.
bool serve_alike(const run_log& a, const run_log& b) noexcept;

/// For behind what such a rank sent; nothing for others.
std::string serving_included(const run_log& run);

/// For beside bytes of several runs: in which there is serving; nothing where in none.
std::string said_of_serving(std::span<const run_log> runs);

/// Whether all times are of a simulated network.
bool all_simulated(std::span<const run_log> runs) noexcept;

/// Whose clock an axis of seconds has.
const char* unit_of_time(std::span<const run_log> runs) noexcept;

/// For beside a time: that nobody measured it.
const char* simulated_word(const run_log& run) noexcept;

/// For beside several times: which were not measured; nothing where all were.
std::string said_of_times(std::span<const run_log> runs);

/// Which network runs went over that was none.
std::string simulated_networks(std::span<const run_log> runs);

/// Whose a loss while training is: short, for beside it.
std::string whose_loss(const run_log& run);

/// The same of several runs, for above a chart.
std::string whose_loss(std::span<const run_log> runs);

/// Whose an evaluation is, likewise.
std::string whose_model(const run_log& run);

/// What curves of loss and accuracy show.
std::string said_of_losses(std::span<const run_log> runs);

}  // namespace sotto::detail::reporting

#ifndef SOTTO_SEPARATE_COMPILATION
#include "sotto/report/detail/sections/report_terms.ipp"
#endif
