#pragma once

#include "sotto/report/detail/sections/report_servers.hpp"

#include <algorithm>

#include "sotto/core/config.hpp"
#include "sotto/logging/detail/report_text.hpp"
#include "sotto/logging/server_summary.hpp"
#include "sotto/report/detail/sections/report_summary.hpp"
#include "sotto/report/detail/sections/report_terms.hpp"

namespace sotto::detail::reporting {

SOTTO_DECL staleness_bars::staleness_bars(const server_report& server) {
    const auto shown =
        std::span(server.workers).first((std::min)(server.workers.size(), workers_max));
    std::int64_t most = 0;
    for (const served_worker& w : shown) most = (std::max)(most, w.most_late());
    each_ = most / bars_max + 1;
    bars_ = most / each_ + 1;
    for (const served_worker& w : shown)
        for (const double part : shares(w)) longest_ = (std::max)(longest_, part);
}

SOTTO_DECL std::string staleness_bars::svg(const served_worker& worker) const {
    std::string out = "<svg class=\"bars\" viewBox=\"0 0 " + at(width) + " " + at(height) +
                      "\" role=\"img\" aria-label=\"" + escaped(told(worker)) +
                      "\"><path class=\"a\" d=\"M0 " + at(height) + "H" + at(width) + "\"/>";
    const double step = width / static_cast<double>(std::max<std::int64_t>(bars_, 8));
    const std::vector<double> parts = shares(worker);
    for (std::size_t bar = 0; bar < parts.size(); ++bar) {
        const double part = parts[bar];
        if (!(part > 0.0)) continue;
        // Even the smallest share is visible.
        const double high = (std::max)((height - 1.0) * part / longest_, 0.7);
        out += "<rect class=\"c0\" x=\"" + at(step * static_cast<double>(bar) + 0.5) + "\" y=\"" +
               at(height - high) + "\" width=\"" + at(step - 1.0) + "\" height=\"" + at(high) +
               "\"><title>" + steps_of(bar) + " late: " + percent(part, 1) + "</title></rect>";
    }
    return out + "</svg>";
}

SOTTO_DECL std::string staleness_bars::told(const served_worker& w) {
    return "rank " + std::to_string(w.rank) + ": " + digits(w.mean_late()) +
           " steps late on the mean, " + std::to_string(std::max<std::int64_t>(w.most_late(), 0)) +
           " at most";
}

SOTTO_DECL std::string staleness_bars::steps_of(std::size_t bar) const {
    const std::int64_t first = static_cast<std::int64_t>(bar) * each_;
    std::string out = std::to_string(first);
    if (each_ > 1) out += " to " + std::to_string(first + each_ - 1);
    return out + (first == 1 && each_ == 1 ? " step" : " steps");
}

SOTTO_DECL std::vector<double> staleness_bars::shares(const served_worker& w) const {
    std::vector<double> parts(static_cast<std::size_t>(bars_));
    double all = 0.0;
    for (std::size_t late = 0; late < w.staleness.size(); ++late) {
        const auto count = static_cast<double>(w.staleness[late]);
        const std::size_t bar = late / static_cast<std::size_t>(each_);
        parts[(std::min)(bar, parts.size() - 1)] += count;
        all += count;
    }
    for (double& part : parts) part = all > 0.0 ? part / all : 0.0;
    return parts;
}

SOTTO_DECL std::string told_memory(const server_memory& memory) {
    const std::string parts =
        parts_of(memory, [](std::int64_t size) { return bytes(static_cast<double>(size)); });
    return bytes(static_cast<double>(memory.together())) + " of memory at most" +
           (parts.empty() ? "" : ": ") + parts;
}

SOTTO_DECL std::string own_waiting(const run_log& run, int rank) {
    for (const rank_total& r : run.ranks)
        if (r.rank == rank) return seconds(r.total.wait);
    if (run.about.rank == rank && run.steps > 0) return seconds(run.total.wait);
    return "–";
}

SOTTO_DECL std::string server_table(const server_report& server, const run_log& run) {
    constexpr std::size_t rows_max = staleness_bars::workers_max;
    const staleness_bars bars(server);
    const bool loses = std::any_of(server.workers.begin(), server.workers.end(),
                                   [](const served_worker& w) { return w.lost > 0; });
    std::string out =
        "<div class=\"scroll\"><table><caption>The server on rank " + std::to_string(server.rank) +
        ", " + counted(static_cast<double>(server.version)) + " steps, " +
        percent(server.dropped_share(), 1) + " of all gradients dropped. A bar is " +
        (bars.each() == 1 ? std::string("a step") : std::to_string(bars.each()) + " steps") +
        " of lateness, from none on; its height is a share of the worker’s gradients, on one scale"
        "</caption><thead><tr><th>worker</th><th>gradients</th><th>of them "
        "dropped</th><th>share</th>"
        "<th>steps late, mean</th><th>most</th><th>held back by the server</th>"
        "<th>waited, by its own log</th><th>how late they came</th>" +
        (loses ? "<th>lost</th>" : "") + "</tr></thead>";
    for (std::size_t i = 0; i < (std::min)(server.workers.size(), rows_max); ++i) {
        const served_worker& w = server.workers[i];
        out += "<tr><th>rank " + std::to_string(w.rank) + "</th>" +
               element("td", counted(static_cast<double>(w.rounds))) +
               element("td", counted(static_cast<double>(w.dropped))) +
               element("td", percent(w.dropped_share(), 1)) + element("td", digits(w.mean_late())) +
               element("td", w.most_late() < 0 ? "–" : std::to_string(w.most_late())) +
               element("td", seconds(w.waited)) + element("td", own_waiting(run, w.rank)) +
               element("td", bars.svg(w)) +
               (loses ? element("td", counted(static_cast<double>(w.lost))) : "") + "</tr>";
    }
    if (server.workers.size() > rows_max)
        out +=
            "<tr><th>and " + std::to_string(server.workers.size() - rows_max) + " more</th></tr>";
    if (server.rounds() > 0)
        out += "<tr><th>all</th>" + element("td", counted(static_cast<double>(server.rounds()))) +
               element("td", counted(static_cast<double>(server.dropped()))) +
               element("td", percent(server.dropped_share(), 1)) + "</tr>";
    out += "</table></div>";
    if (server.saves)
        out += "<p" + std::string(server.saves->failed > 0 ? " class=\"bad\"" : "") +
               ">The server on rank " + std::to_string(server.rank) + ": " +
               escaped(summary_of(*server.saves), 500) + ".</p>";
    return out;
}

SOTTO_DECL std::string told_losses(const run_log& run) {
    constexpr std::size_t losses_max = 8;
    if (run.losses.empty()) return "";
    std::string out;
    for (std::size_t i = 0; i < (std::min)(run.losses.size(), losses_max); ++i)
        out += (out.empty() ? "" : ". ") + escaped(summary_of(run.losses[i]), 300);
    if (run.losses.size() > losses_max)
        out += ", and " + std::to_string(run.losses.size() - losses_max) + " more";
    return "<p>" + out + ".</p>";
}

SOTTO_DECL std::string servers_section(std::span<const run_log> runs) {
    constexpr std::size_t runs_max = 12, servers_max = 4;
    std::string out;
    std::size_t drawn = 0;
    for (std::size_t i = 0; i < runs.size(); ++i) {
        const run_log& run = runs[i];
        if ((run.servers.empty() && run.losses.empty()) || ++drawn > runs_max) continue;
        out += "<p>" + key(i) + "<b>" + escaped(run.name, 80) + "</b>";
        if (run.about.serves) out += ": a server takes " + told_memory(*run.about.serves);
        out += ".</p>" + told_losses(run);
        for (std::size_t s = 0; s < (std::min)(run.servers.size(), servers_max); ++s)
            out += server_table(run.servers[s], run);
        if (run.servers.size() > servers_max)
            out += "<p class=\"soft\">and " + std::to_string(run.servers.size() - servers_max) +
                   " more servers</p>";
    }
    if (out.empty()) return out;
    if (std::all_of(runs.begin(), runs.end(), [](const run_log& run) { return !run.by_server(); }))
        return "<h2>Ranks that went</h2>" + out;
    return "<h2>How late gradients came</h2><p class=\"soft\">Steps that the server took between a "
           "worker’s reading of the parameters and its gradient’s arrival. A server holds "
           "a worker back from its push’s arrival to the answer; what the worker waited is that "
           "and the network, and what is under way at the server for others." +
           said_of_times(runs) + "</p>" + out;
}

}  // namespace sotto::detail::reporting
