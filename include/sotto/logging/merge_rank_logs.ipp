#pragma once

#include "sotto/logging/merge_rank_logs.hpp"

#include <algorithm>
#include <cstddef>
#include <string>
#include <utility>

#include "sotto/core/config.hpp"
#include "sotto/core/detail/memory/sort_stably.hpp"
#include "sotto/logging/read_json_lines.hpp"
#include "sotto/trainer/model_path.hpp"

namespace sotto::detail {

SOTTO_DECL rank_total total_of(const run_log& log) {
    const auto [steady, steps] = log.steady();
    return {log.about.rank, log.steps, log.seconds, log.total, steady, steps};
}

SOTTO_DECL int ranks_that_trained(std::span<const run_log> logs, const run_log& run) {
    if (!run.about.model.empty()) return run.about.ranks();  // every rank of the model trains
    std::vector<bool> trained(static_cast<std::size_t>(run.about.world_size), run.servers.empty());
    const auto set = [&](int rank, bool value) {
        if (rank >= 0 && rank < run.about.world_size)
            trained[static_cast<std::size_t>(rank)] = value;
    };
    serving_ranks serving;
    for (const auto& [name, value] : run.about.options) serving.read(name, value);
    for (int rank = 0; rank < serving.alone(); ++rank) set(rank, false);
    for (const run_log& log : logs) set(log.about.rank, log.steps > 0);
    for (const server_report& server : run.servers)
        for (const served_worker& w : server.workers)
            if (w.rounds > 0) set(w.rank, true);
    return static_cast<int>(std::count(trained.begin(), trained.end(), true));
}

}  // namespace sotto::detail

namespace sotto {

SOTTO_DECL run_log merge_rank_logs(std::vector<run_log> ranks) {
    if (ranks.empty()) return {};
    detail::sort_stably(
        ranks, [](const run_log& a, const run_log& b) { return a.about.rank < b.about.rank; });
    const auto trained =
        std::find_if(ranks.begin(), ranks.end(), [](const run_log& log) { return log.steps > 0; });
    std::rotate(ranks.begin(), trained == ranks.end() ? ranks.begin() : trained,
                trained == ranks.end() ? ranks.begin() : trained + 1);
    run_log run = ranks.front();
    for (const run_log& log : ranks)
        if (log.steps > 0) run.ranks.push_back(detail::total_of(log));
    for (run_log& other : std::span(ranks).subspan(1)) {
        for (server_report& server : other.servers) run.add(std::move(server));
        if (!run.about.serves) run.about.serves = other.about.serves;
        if (!other.timeline.steps.empty()) run.others.push_back(std::move(other.timeline));
    }
    if (run.ranks.empty()) return run;
    run.trained = detail::ranks_that_trained(ranks, run);
    double examples = 0.0;
    for (const detail::rank_total& r : run.ranks) examples += r.total.examples;
    run.total.examples_of_all = examples * run.trained / static_cast<double>(run.ranks.size());
    return run;
}

SOTTO_DECL run_log read_json_lines_of_ranks(const std::string& path) {
    std::vector<run_log> ranks;
    ranks.push_back(read_json_lines(path));
    // The log of a rank that restarted during the run has one more run line, after an interruption.
    const auto fits_of = [](const run_log& log) { return log.fits - log.interruptions; };
    const auto [world, fits] = std::pair{ranks.front().about.world_size, fits_of(ranks.front())};
    std::string name = ranks.front().name;
    for (int rank = 1; rank < world; ++rank) {
        auto other = read_json_lines_if_there(path_of_rank(path, rank));
        // Skips the log of an earlier run or of a run with more ranks.
        if (other && other->about.rank == rank && other->about.world_size == world &&
            fits_of(*other) == fits)
            ranks.push_back(*std::move(other));
    }
    run_log run = merge_rank_logs(std::move(ranks));
    run.name = std::move(name);
    return run;
}

}  // namespace sotto
