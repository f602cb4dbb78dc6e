#pragma once

#include "sotto/logging/server_summary.hpp"

#include <algorithm>
#include <cstddef>

#include "sotto/core/config.hpp"
#include "sotto/core/detail/text/number_text.hpp"
#include "sotto/core/printable.hpp"

namespace sotto::detail {

SOTTO_DECL std::string summary_of(const server_memory& memory) {
    const auto size = [](std::int64_t count) {
        const auto value = static_cast<double>(count);
        if (value < 1024.0 * 1024.0) return detail::fixed_text(value / 1024.0, 1) + " KiB";
        if (value < 1024.0 * 1024.0 * 1024.0)
            return detail::fixed_text(value / (1024.0 * 1024.0), 1) + " MiB";
        return detail::fixed_text(value / (1024.0 * 1024.0 * 1024.0), 1) + " GiB";
    };
    const std::string parts = parts_of(memory, size);
    return "the server takes at most " + size(memory.together()) + " of memory" +
           (parts.empty() ? "" : ": ") + parts;
}

SOTTO_DECL std::string counted_rounds(std::int64_t count) {
    return std::to_string(count) + (count == 1 ? " round" : " rounds");
}

SOTTO_DECL std::string summary_of(const rank_loss& loss) {
    std::string out = "rank " + std::to_string(loss.rank) + " went";
    if (loss.step >= 0) out += " after step " + std::to_string(loss.step);
    if (loss.seconds >= 0.0) out += " (" + detail::fixed_text(loss.seconds, 1) + " s)";
    out += ": " + loss.cause;
    if (loss.again_step >= 0)
        out += "; it was there again after step " + std::to_string(loss.again_step);
    if (loss.rounds > 0)
        out += "; it came again without " + counted_rounds(loss.rounds) +
               " of this rank that it had acknowledged";
    return out;
}

SOTTO_DECL std::string summary_of(const server_saves& saves) {
    const auto times = [](std::int64_t count) {
        return count == 1 ? std::string("once") : std::to_string(count) + " times";
    };
    std::string out = saves.written == 0 ? "it saved nothing of what it holds"
                                         : "it saved what it holds " + times(saves.written) +
                                               " in '" + saves.folder + "', last after its step " +
                                               std::to_string(saves.last_step);
    if (saves.failed > 0)
        out += "; saving failed " + times(saves.failed) + ", last: " + saves.failure;
    return out;
}

}  // namespace sotto::detail

namespace sotto {

SOTTO_DECL std::string summary_of(const server_report& server, const char* beside_times) {
    constexpr std::size_t workers_max = 16;
    const auto percent = [](double share) { return detail::fixed_text(100.0 * share, 1) + " %"; };
    std::string out = "the server on rank " + std::to_string(server.rank) + " took " +
                      std::to_string(server.version) + " steps\n";
    if (server.saves) out += "  " + printable(detail::summary_of(*server.saves)) + "\n";
    if (server.rounds() > 0)
        out += "  of " + std::to_string(server.rounds()) + " gradients in all " +
               std::to_string(server.dropped()) + " were dropped (" +
               percent(server.dropped_share()) + ")\n";
    for (std::size_t i = 0; i < (std::min)(server.workers.size(), workers_max); ++i) {
        const detail::served_worker& w = server.workers[i];
        out += "  rank " + std::to_string(w.rank) + ": " + std::to_string(w.rounds) +
               " gradients, " + std::to_string(w.dropped) + " of them dropped (" +
               percent(w.dropped_share()) + "), " + detail::fixed_text(w.mean_late(), 2) +
               " steps late on the mean, " +
               std::to_string(std::max<std::int64_t>(w.most_late(), 0)) +
               " at most, held back by the server " + detail::fixed_text(w.waited, 2) + " s" +
               beside_times + "\n";
        if (w.lost > 0)
            out += "    " + detail::counted_rounds(w.lost) +
                   " of it had been acknowledged and were lost when the server failed\n";
    }
    if (server.workers.size() > workers_max)
        out += "  and " + std::to_string(server.workers.size() - workers_max) + " more workers\n";
    return out;
}

}  // namespace sotto
