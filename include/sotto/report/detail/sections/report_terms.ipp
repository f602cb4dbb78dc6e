#pragma once

#include "sotto/report/detail/sections/report_terms.hpp"

#include <algorithm>

#include "sotto/core/config.hpp"

namespace sotto::detail::reporting {

SOTTO_DECL serving_ranks serving_of(const run_log& run) noexcept {
    serving_ranks found;
    for (const auto& [name, value] : run.about.options) found.read(name, value);
    return found;
}

SOTTO_DECL bool serves_too(const run_log& run) noexcept {
    return run.steps > 0 &&
           (run.about.rank < serving_of(run).servers ||
            std::any_of(run.servers.begin(), run.servers.end(), [&](const server_report& server) {
                return server.rank == run.about.rank;
            }));
}

SOTTO_DECL bool serve_alike(const run_log& a, const run_log& b) noexcept {
    return serves_too(a) == serves_too(b) &&
           (!serves_too(a) || serving_of(a).servers == serving_of(b).servers);
}

SOTTO_DECL std::string serving_included(const run_log& run) {
    if (!serves_too(run)) return "";
    return std::string(", serving included") + (run.ended ? ", also after its own last step" : "");
}

SOTTO_DECL std::string said_of_serving(std::span<const run_log> runs) {
    const std::string names = names_where(runs, serves_too);
    if (names.empty()) return "";
    return "The rank of <b>" + names +
           "</b> that is shown serves too: what it sent and received holds its answers to all "
           "workers and their pushes, also after its own last step.";
}

SOTTO_DECL bool all_simulated(std::span<const run_log> runs) noexcept {
    return std::all_of(runs.begin(), runs.end(),
                       [](const auto& run) { return run.is_simulated(); });
}

SOTTO_DECL const char* unit_of_time(std::span<const run_log> runs) noexcept {
    const bool some = std::any_of(runs.begin(), runs.end(),
                                  [](const run_log& run) { return run.is_simulated(); });
    if (!some) return "seconds";
    return all_simulated(runs) ? "simulated seconds" : "seconds, some of them simulated";
}

SOTTO_DECL const char* simulated_word(const run_log& run) noexcept {
    return run.is_simulated() ? " (simulated)" : "";
}

SOTTO_DECL std::string said_of_times(std::span<const run_log> runs) {
    if (all_simulated(runs)) return " Times are simulated.";
    const std::string names =
        names_where(runs, [](const run_log& run) { return run.is_simulated(); });
    return names.empty() ? "" : " Times of <b>" + names + "</b> are simulated.";
}

SOTTO_DECL std::string simulated_networks(std::span<const run_log> runs) {
    std::string out;
    for (auto run = runs.begin(); run != runs.end(); ++run) {
        const std::string& network = run->about.simulated_network;
        const auto is_on_it = [&](const run_log& other) {
            return other.about.simulated_network == network;
        };
        if (!run->is_simulated() || std::any_of(runs.begin(), run, is_on_it)) continue;
        out += "<p class=\"soft\">All times of <b>" + names_where(runs, is_on_it) +
               "</b> are simulated seconds, which no machine took, on a network of " +
               escaped(network, 300) + ".</p>";
    }
    return out;
}

SOTTO_DECL std::string whose_loss(const run_log& run) {
    if (run.in_step() && !run.about.model.empty()) return "mean of its model’s ranks";
    return run.in_step() ? "mean of all ranks"
                         : "of rank " + std::to_string(run.about.rank) + " alone";
}

SOTTO_DECL std::string whose_loss(std::span<const run_log> runs) {
    if (runs.empty()) return "";
    const std::string first = whose_loss(runs.front());
    const bool alike = std::all_of(runs.begin(), runs.end(),
                                   [&](const run_log& run) { return whose_loss(run) == first; });
    return alike ? first : "of all ranks or of one";
}

SOTTO_DECL std::string whose_model(const run_log& run) {
    return run.in_step() ? "" : ", by rank " + std::to_string(run.about.rank) + " alone";
}

SOTTO_DECL std::string said_of_losses(std::span<const run_log> runs) {
    const auto in_step = [](const run_log& run) { return run.in_step(); };
    std::string out = "<p class=\"soft\">";
    if (std::any_of(runs.begin(), runs.end(), in_step))
        out +=
            "Loss while training is by epoch the mean over all ranks’ examples; faint, each "
            "step’s of the rank whose log it is. Unseen data are evaluated with what all ranks "
            "hold, or its mean where they differ.";
    const std::string others = names_where(runs, [&](const run_log& run) { return !in_step(run); });
    if (!others.empty())
        out +=
            " Workers of <b>" + others +
            "</b> need not be in step: losses are of one worker’s own examples, and evaluations of "
            "the parameters that it had then.";
    return out + "</p>";
}

}  // namespace sotto::detail::reporting
