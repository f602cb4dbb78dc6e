#pragma once

#include <algorithm>
#include <cstddef>
#include <filesystem>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "sotto/trainer/read_json_lines.hpp"
#include "sotto/trainer/run_log.hpp"

namespace sotto {

/// One run, of what each of its ranks logged: that of the first rank that trained, or of the first
/// if none did, with what all servers told and when the others did what.
inline run_log joined_ranks(std::vector<run_log> ranks) {
    if (ranks.empty()) return {};
    std::stable_sort(ranks.begin(), ranks.end(), [](const run_log& a, const run_log& b) {
        return a.about.rank < b.about.rank;
    });
    const auto trained =
        std::find_if(ranks.begin(), ranks.end(), [](const run_log& log) { return log.steps > 0; });
    std::rotate(ranks.begin(), trained == ranks.end() ? ranks.begin() : trained,
                trained == ranks.end() ? ranks.begin() : trained + 1);
    run_log run = std::move(ranks.front());
    for (run_log& other : std::span(ranks).subspan(1)) {
        for (server_report& server : other.servers) run.add(std::move(server));
        if (!run.about.serves) run.about.serves = other.about.serves;
        if (!other.timeline.steps.empty()) run.others.push_back(std::move(other.timeline));
    }
    return run;
}

/// The same from files: PATH, and PATH.rank1 and so on, as json_lines names those of other ranks;
/// of these as many as there are.
///   errors  see read_json_lines
inline run_log read_json_lines_of_ranks(const std::filesystem::path& path) {
    std::vector<run_log> ranks;
    ranks.push_back(read_json_lines(path));
    const auto [world, fits] = std::pair{ranks.front().about.world_size, ranks.front().fits};
    std::string name = ranks.front().name;
    for (int rank = 1; rank < world; ++rank) {
        auto other = read_json_lines_if_there(path.string() + ".rank" + std::to_string(rank));
        // One that a larger or an earlier run has left is not of this one.
        if (other && other->about.rank == rank && other->about.world_size == world &&
            other->fits == fits)
            ranks.push_back(*std::move(other));
    }
    run_log run = joined_ranks(std::move(ranks));
    run.name = std::move(name);
    return run;
}

}  // namespace sotto
