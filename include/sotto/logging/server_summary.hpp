#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>

#include "sotto/core/detail/text/number_text.hpp"
#include "sotto/core/printable.hpp"
#include "sotto/strategies/detail/rank_loss.hpp"
#include "sotto/strategies/detail/server_memory.hpp"
#include "sotto/strategies/server_report.hpp"

namespace sotto::detail {

/// The parts of what a server takes that are not nothing, in words for people, with their sizes.
inline std::string parts_of(const server_memory& memory, auto&& size) {
    std::string parts;
    const auto add = [&](std::int64_t part, const char* what) {
        if (part > 0) parts += (parts.empty() ? "" : ", ") + std::string(what) + " " + size(part);
    };
    add(memory.parameters, "parameters and a gradient");
    add(memory.optimizer, "what the optimizer remembers");
    add(memory.compensator, "what the compensator remembers");
    add(memory.versions, "copies of parameters that workers have read");
    add(memory.changes, "what the last steps changed");
    add(memory.messages, "messages");
    return parts;
}

/// What a server will take, in a line for people.
inline std::string summary_of(const server_memory& memory) {
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

/// "1 round", "2 rounds".
inline std::string counted_rounds(std::int64_t count) {
    return std::to_string(count) + (count == 1 ? " round" : " rounds");
}

/// A rank that went, and what became of it.
inline std::string summary_of(const rank_loss& loss) {
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

/// What became of a server's checkpoints, in a line for people.
inline std::string summary_of(const server_saves& saves) {
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

/// What a server has seen: a line for each worker, of many the first ones. A worker is held back
/// between its push and the answer; what it waits itself, for the network too, is in its own log.
/// `beside_times`: what is said after each time, such as that it is simulated.
inline std::string summary_of(const server_report& server, const char* beside_times = "") {
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
