#pragma once

#include "sotto/report/detail/sections/report_costs.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <numeric>
#include <utility>

#include "sotto/core/config.hpp"
#include "sotto/core/detail/memory/sort_stably.hpp"
#include "sotto/logging/detail/report_text.hpp"
#include "sotto/report/detail/charts/report_chart.hpp"
#include "sotto/report/detail/sections/report_summary.hpp"
#include "sotto/report/detail/sections/report_terms.hpp"

namespace sotto::detail::reporting {

SOTTO_DECL std::vector<mean_step> mean_steps(std::span<const run_log> runs) {
    constexpr std::size_t ranks_max = 16;
    std::vector<mean_step> rows;
    const auto add = [&](const run_log& run, std::string name, const run_costs& costs,
                         std::int64_t steps) {
        run_costs each;
        each.add(costs, 1.0 / static_cast<double>(std::max<std::int64_t>(steps, 1)));
        // Simulated computing takes no time of the clock that measures the teachers.
        each.listening = run.is_simulated() ? 0.0 : (std::min)(each.listening, each.compute);
        rows.push_back({std::move(name), each});
    };
    for (std::size_t i = 0; i < runs.size(); ++i) {
        const run_log& run = runs[i];
        const std::string name = key(i) + escaped(run.name, 60);
        const auto of_rank = [&](int rank) { return name + ", rank " + std::to_string(rank); };
        const std::size_t shown = (std::min)(run.ranks.size(), ranks_max);
        for (const rank_total& r : std::span(run.ranks).first(shown))
            add(run, of_rank(r.rank), r.steady, r.steady_steps);
        if (shown > 0) continue;
        const auto [costs, steps] = run.steady();
        add(run, run.by_server() ? of_rank(run.about.rank) : name, costs, steps);
    }
    return rows;
}

SOTTO_DECL std::string step_times(std::span<const run_log> runs) {
    double longest = 0.0;
    const std::vector<mean_step> mean = mean_steps(runs);
    for (const mean_step& each : mean) longest = (std::max)(longest, each.costs.seconds());
    if (!(longest > 0.0)) return {};
    std::string bars, table;
    const bool listens = std::any_of(
        mean.begin(), mean.end(), [](const mean_step& each) { return each.costs.listening > 0.0; });
    for (const auto& [name, each] : mean) {
        bars += "<div><div>" + name + "</div><div class=\"bar\">";
        table += "<tr><th>" + name + "</th>";
        const auto add = [&](const part_of_step& part, double took) {
            const double share = took / longest;
            table += element("td", seconds(took));
            if (share < 0.001) return;
            bars += "<span class=\"" + std::string(part.colour) +
                    "\" style=\"width:" + fixed(100.0 * share, 2) + "%\" title=\"" + part.name +
                    " " + seconds(took) + "\">" + (share > 0.09 ? part.name : "") + "</span>";
        };
        for (const part_of_step& part : parts_of_step) {
            const bool computes = part.seconds == &run_costs::compute;
            add(part, each.*part.seconds - (computes ? each.listening : 0.0));
            if (computes && listens) add(part_of_teachers, each.listening);
        }
        bars += "</div><div>" + seconds(each.seconds()) + "</div></div>";
        table += element("td", seconds(each.seconds())) + "</tr>";
    }
    std::string legend = "<p class=\"keys soft\">", head = "<tr><th>a step</th>";
    const auto explain = [&](const part_of_step& part) {
        legend +=
            "<span><i class=\"key " + std::string(part.colour) + "\"></i>" + part.name + "</span>";
        head += element("th", part.name);
    };
    for (const part_of_step& part : parts_of_step) {
        explain(part);
        if (part.seconds == &run_costs::compute && listens) explain(part_of_teachers);
    }
    return "<h2>Where a step’s time goes</h2><p class=\"soft\">A worker’s mean step in its last "
           "complete epoch. <b>wait</b> is the network and slower workers; <b>compress</b> is what "
           "saying less costs." +
           (listens ? std::string(" <b>teachers</b> is what other models’ passes forward cost.")
                    : std::string()) +
           said_of_times(runs) + "</p>" + legend + "</p><div class=\"rows\">" + bars +
           "</div><details><summary>as numbers</summary><div class=\"scroll\"><table><thead>" +
           head + "<th>together</th></tr></thead>" + table + "</table></div></details>";
}

SOTTO_DECL std::string message_shares(std::span<const run_log> runs) {
    double low = 1.0, high = 0.0, last = 1.0;
    std::vector<std::vector<dot>> lines;
    for (const run_log& run : runs) {
        std::vector<dot> line;
        for (const run_point& p : run.points) {
            if (!(p.dense_bytes > 0.0) || !(p.message_bytes > 0.0)) continue;
            const double share = p.message_bytes / p.dense_bytes;
            line.push_back({static_cast<double>(p.last_step), share});
            low = (std::min)(low, share);
            high = (std::max)(high, share);
            last = (std::max)(last, line.back().x);
        }
        lines.push_back(std::move(line));
    }
    if (!(high > 0.0)) return {};
    chart c("A worker’s message as a share of its gradient", counting_axis(last), "steps",
            log_axis(std::pow(10.0, std::floor(std::log10(low) + 1e-9)), (std::max)(high, 1.0),
                     10.0, [](double v) { return digits(100.0 * v, 1) + "\u202f%"; }));
    std::string says;
    for (std::size_t i = 0; i < runs.size(); ++i) {
        if (lines[i].empty()) continue;
        c.line(thinned(lines[i]), i, chart::weight::normal);
        c.name(lines[i].back(), runs[i].name, i);
        says += runs[i].name + " ends at " + digits(100.0 * lines[i].back().y) + " percent. ";
    }
    return c.svg(says);
}

SOTTO_DECL std::string shape_of(const run_tensor& t) {
    std::string out;
    for (const std::int64_t extent : t.shape)
        out += (out.empty() ? "" : " × ") + std::to_string(extent);
    return out.empty() ? "scalar" : out;
}

SOTTO_DECL std::string tensor_table(std::span<const run_log> runs,
                                    const std::vector<std::size_t>& members) {
    constexpr std::size_t rows_max = 30;
    const auto& tensors = runs[members.front()].about.tensors;
    std::vector<std::size_t> order(tensors.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    sotto::detail::sort_stably(
        order, [&](std::size_t a, std::size_t b) { return tensors[a].size > tensors[b].size; });
    const std::size_t shown = order.size() > rows_max ? rows_max - 1 : order.size();
    std::sort(order.begin(), order.begin() + static_cast<std::ptrdiff_t>(shown));
    std::string out =
        "<div class=\"scroll\"><table><caption>Bytes of one worker’s message, mean step of the "
        "last "
        "epoch; bars show the share of the "
        "gradient</caption><thead><tr><th>tensor</th><th>shape</th>"
        "<th>gradient</th>";
    for (const std::size_t m : members)
        out += "<th>" + key(m) + escaped(runs[m].name, 40) + "</th>";
    out += "</tr></thead>";
    const auto row = [&](const std::string& name, const std::string& shape, auto sum) {
        const double dense =
            4.0 *
            sum([](const run_tensor& t) { return static_cast<double>(t.size); }, members.front());
        out += "<tr><th>" + name + "</th><td>" + shape + "</td><td>" + bytes(dense) + "</td>";
        for (const std::size_t m : members) {
            const double message = sum([](const run_tensor& t) { return t.message_bytes; }, m);
            const double share = dense > 0.0 ? message / dense : 0.0;
            out += "<td>" + bytes(message) + " <span class=\"soft\">" +
                   (share > 0.0 ? digits(100.0 * share, 2) + "\u202f%" : "–") +
                   "</span><div class=\"bar small\"><span class=\"f" + chart::place(m) +
                   "\" style=\"width:" + fixed(100.0 * (std::min)(share, 1.0), 2) +
                   "%\"></span></div></td>";
        }
        out += "</tr>";
    };
    for (std::size_t k = 0; k < shown; ++k)
        row(escaped(tensors[order[k]].name, 80), shape_of(tensors[order[k]]),
            [&](auto of, std::size_t m) { return of(runs[m].about.tensors[order[k]]); });
    const auto several = [&](std::size_t from) {
        return [&, from](auto of, std::size_t m) {
            double sum = 0.0;
            for (std::size_t k = from; k < order.size(); ++k)
                sum += of(runs[m].about.tensors[order[k]]);
            return sum;
        };
    };
    if (shown < order.size())
        row(std::to_string(order.size() - shown) + " smaller ones", "", several(shown));
    row("all tensors", "", several(0));
    return out + "</table></div>";
}

SOTTO_DECL std::string tensor_bytes(std::span<const run_log> runs) {
    std::string out;
    std::vector<bool> done(runs.size(), false);
    for (std::size_t i = 0; i < runs.size(); ++i) {
        if (done[i] || runs[i].about.tensors.empty()) continue;
        std::vector<std::size_t> members;
        for (std::size_t j = i; j < runs.size(); ++j)
            if (!done[j] && runs[j].tensor_steps > 0 &&
                same_tensors(runs[i].about.tensors, runs[j].about.tensors)) {
                members.push_back(j);
                done[j] = true;
            }
        if (!members.empty()) out += tensor_table(runs, members);
    }
    return out;
}

SOTTO_DECL std::string totals(std::span<const run_log> runs) {
    const auto served =
        std::count_if(runs.begin(), runs.end(), [](const run_log& run) { return run.by_server(); });
    std::string head = "<tr><th>one worker, whole run</th>";
    for (std::size_t i = 0; i < runs.size(); ++i)
        head += "<th>" + key(i) + escaped(runs[i].name, 40) +
                (runs[i].by_server() || runs[i].about.mixing
                     ? ", rank " + std::to_string(runs[i].about.rank) +
                           (serves_too(runs[i]) ? ", a server too" : "")
                     : "") +
                "</th>";
    std::string rows;
    const auto row = [&](const char* name, auto value) {
        rows += "<tr><th>" + std::string(name) + "</th>";
        for (const run_log& run : runs) rows += element("td", value(run));
        rows += "</tr>";
    };
    const auto ratio = [](double dense, double sent) {
        return sent > 0.0 ? times(dense / sent) : "–";
    };
    row("gradients, as 4-byte floats", [](const run_log& r) { return bytes(r.total.dense_bytes); });
    row("messages they became, each once",
        [](const run_log& r) { return bytes(r.total.message_bytes); });
    row("message ratio",
        [&](const run_log& r) { return ratio(r.total.dense_bytes, r.total.message_bytes); });
    row(served == 0                  ? "whole gradients by a ring would send"
        : served == std::ssize(runs) ? "whole gradients to a server would send"
                                     : "whole gradients by a ring, or to a server, would send",
        [](const run_log& r) { return bytes(r.total.ring_bytes); });
    row("sent on the wire, all copies", [](const run_log& r) { return bytes(r.total.bytes_sent); });
    row("wire ratio", [&](const run_log& r) {
        return serves_too(r) ? std::string("–") : ratio(r.total.ring_bytes, r.total.bytes_sent);
    });
    row("received", [](const run_log& r) { return bytes(r.total.bytes_received); });
    row("parameters", [](const run_log& r) {
        double size = 0.0;
        for (const run_tensor& t : r.about.tensors) size += static_cast<double>(t.size);
        return bytes(4.0 * size);
    });
    row("most memory the process had", [](const run_log& r) {
        return r.peak_memory_bytes > 0.0 ? bytes(r.peak_memory_bytes) : std::string("–");
    });
    std::string why = "<p class=\"soft\">";
    if (served > 0)
        why +=
            "To a server a message goes once. Back come the server’s parameters, whole "
            "unless few of them have changed: both ratios are of what was sent alone. ";
    if (const std::string serving = said_of_serving(runs); !serving.empty())
        why += serving + " Of that there is no wire ratio. ";
    if (served < std::ssize(runs))
        why +=
            "The two ratios differ: a sum of whole gradients over N workers costs each "
            "of them only 2 (N − 1) / N gradients, because partial sums travel; compressed "
            "messages "
            "cannot be added on the way, so an all-gather delivers each of them to the N − 1 other "
            "workers.";
    for (const run_log& run : runs) {
        const double n = run.workers();
        if (n < 2.0 || run.by_server() || run.changed_world || sends_whole_gradients(run) ||
            !(run.total.message_bytes > 0.0))
            continue;
        const double ring = 2.0 * (n - 1.0) / n;
        why += " In <b>" + escaped(run.name, 60) + "</b> with " + fixed(n, 0) +
               " workers a gradient of 1 MiB would put " + digits(ring) +
               " MiB on the wire; its message is sent " + fixed(n - 1.0, 0) +
               " times: of a message ratio of " +
               times(run.total.dense_bytes / run.total.message_bytes) + " about " +
               times(run.total.dense_bytes / run.total.message_bytes * 2.0 / n) +
               " is left where all is gathered, and measured were " +
               ratio(run.total.ring_bytes, run.total.bytes_sent) + ".";
        break;
    }
    return "<div><div class=\"scroll\"><table><thead>" + head + "</tr></thead>" + rows +
           "</table></div>" + why + "</p></div>";
}

}  // namespace sotto::detail::reporting
