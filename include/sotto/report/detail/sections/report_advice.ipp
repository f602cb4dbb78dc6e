#pragma once

#include "sotto/report/detail/sections/report_advice.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <numeric>
#include <system_error>
#include <utility>
#include <vector>

#include "sotto/collectives/detail/all_gather_v.hpp"
#include "sotto/core/config.hpp"
#include "sotto/core/detail/memory/finite.hpp"
#include "sotto/core/detail/memory/sort_stably.hpp"
#include "sotto/logging/detail/report_text.hpp"
#include "sotto/report/detail/charts/report_chart.hpp"
#include "sotto/report/detail/sections/report_costs.hpp"
#include "sotto/report/detail/sections/report_summary.hpp"
#include "sotto/wire/value_format.hpp"

namespace sotto::detail::reporting {

SOTTO_DECL const run_log* compared_run(std::span<const run_log> runs) noexcept {
    const run_log* first = nullptr;
    for (const run_log& run : runs) {
        if (run.about.ranks() < 2 || run.by_server() || run.steps == 0) continue;
        if (sends_whole_gradients(run)) return &run;
        if (!first) first = &run;
    }
    return first;
}

SOTTO_DECL double steps_to_meet(const run_log& run) noexcept {
    for (const auto& [name, value] : run.about.options)
        if (std::int64_t every = 0;
            name == "strategy.local.every" &&
            std::from_chars(value.data(), value.data() + value.size(), every).ec == std::errc{})
            return static_cast<double>(std::max<std::int64_t>(every, 1));
    return 1.0;
}

SOTTO_DECL double messages_of(const run_log& run) noexcept {
    const auto [costs, steps] = run.steady();
    const double share = costs.message_bytes / (std::max)(costs.dense_bytes, 1.0);
    double densest = share;
    for (const run_point& p : run.points)
        densest = (std::max)(densest, p.message_bytes / (std::max)(p.dense_bytes, 1.0));
    const double longer = share > 0.0 ? densest / share : 1.0;
    const bool whole = sends_whole_gradients(run);
    transfer_cost all;
    for (const run_tensor& t : run.about.tensors) {
        const auto size = static_cast<double>(t.size);
        const double message = run.tensor_steps > 0 ? t.message_bytes : 4.0 * size * share;
        const bool halves = message == 2.0 * size;
        if (whole || halves || t.shape.size() < 2)
            all += all_reduce_cost(t.size, run.about.ranks(),
                                   halves ? wire::value_format::fp16 : wire::value_format::fp32);
        else if (t.size > 0)
            all += all_gather_cost(
                message, run.about.ranks(),
                collectives::goes_around_ring(static_cast<std::int64_t>(longer * message)));
    }
    return all.messages / steps_to_meet(run);
}

SOTTO_DECL way_to_send way_of(const run_log& run, std::size_t number) {
    const auto [costs, steps] = run.steady();
    const auto count = static_cast<double>(std::max<std::int64_t>(steps, 1));
    return {.name = run.name,
            .compress_seconds = costs.compress / count,
            .message_bytes = costs.message_bytes / count,
            .transfer = {costs.bytes_sent / count, messages_of(run)},
            .dense = sends_whole_gradients(run),
            .run = static_cast<int>(number)};
}

SOTTO_DECL std::optional<advice> advice_from(std::span<const run_log> runs,
                                             const network_link& link) {
    const run_log* first = compared_run(runs);
    if (!first) return std::nullopt;
    const int world = first->about.ranks();
    std::vector<way_to_send> ways;
    bool has_dense = false;
    for (std::size_t i = 0; i < runs.size(); ++i) {
        if (runs[i].about.ranks() != world || runs[i].by_server() || runs[i].steps == 0 ||
            !same_tensors(runs[i].about.tensors, first->about.tensors) ||
            (sends_whole_gradients(runs[i]) && has_dense))
            continue;
        ways.push_back(way_of(runs[i], i));
        has_dense |= ways.back().dense;
    }
    if (!has_dense) {
        way_to_send whole{.name = "whole gradients", .dense = true};
        for (const run_tensor& t : first->about.tensors) {
            whole.transfer += all_reduce_cost(t.size, world);
            whole.message_bytes += 4.0 * static_cast<double>(t.size);
        }
        ways.insert(ways.begin(), std::move(whole));
    }
    if (ways.size() < 2) return std::nullopt;
    return advise(computing_seconds(*first), link, world, ways);
}

SOTTO_DECL std::string not_compared(std::span<const run_log> runs, const advice& found) {
    std::string names;
    for (std::size_t i = 0; i < runs.size(); ++i)
        if (std::none_of(found.steps.begin(), found.steps.end(), [i](const predicted_step& step) {
                return step.way.run == static_cast<int>(i);
            }))
            names += (names.empty() ? "" : ", ") + escaped(runs[i].name, 40);
    if (names.empty()) return names;
    return " (without " + names +
           ": other tensors, another number of workers, a server or whole gradients again)";
}

SOTTO_DECL std::string nothing_to_compare(std::span<const run_log> runs,
                                          const std::optional<network_link>& link) {
    const bool several = std::any_of(runs.begin(), runs.end(),
                                     [](const run_log& run) { return run.about.ranks() > 1; });
    const run_log* run = compared_run(runs);
    std::string out = "<h2>Does it pay here?</h2><p class=\"soft\">";
    if (!several)
        return out + "There is nothing to compare: one worker has nobody to send gradients to.</p>";
    const auto is_served = [](const run_log& r) { return r.by_server(); };
    if (!run && std::any_of(runs.begin(), runs.end(), is_served))
        return out +
               "What is predicted here is of sums over all workers: of gradients that go to "
               "a server nothing is.</p>";
    if (!run) return out + "There is nothing to compare yet: no step was measured.</p>";
    out +=
        "There is nothing to compare: only whole gradients were sent. With its option calibrate "
        "a report tries the usual compressors out on these tensors.";
    if (link) {
        const advice found =
            advise(computing_seconds(*run), *link, run->about.ranks(), std::array{way_of(*run, 0)});
        out += " Over this link, " + bandwidth(link->bytes_per_second) + ", whole gradients take " +
               seconds(found.steps[0].transfer_seconds) + " of a step of " +
               seconds(found.steps[0].step_seconds) + ".";
    }
    return out + "</p>";
}

SOTTO_DECL std::string crossover_chart(const advice& found, bool link_known) {
    const auto step_at = [&](std::size_t i, double rate) {
        network_link link = found.link;
        link.bytes_per_second = rate;
        return predicted_seconds(found.compute_seconds, found.steps[i].way, link);
    };
    double slowest = 125e3, fastest = 12.5e9;  // 1 Mbit/s to 100 Gbit/s
    if (link_known) {                          // limits of any network
        slowest = std::clamp(found.link.bytes_per_second, 1.0, slowest);
        fastest = std::clamp(found.link.bytes_per_second, fastest, 1e15);
    }
    // Whole gradients, the recommended way, and the best on slow links, without two that look
    // alike.
    std::vector<std::size_t> candidates(found.steps.size());
    std::iota(candidates.begin(), candidates.end(), std::size_t{0});
    sotto::detail::sort_stably(candidates, [&](std::size_t a, std::size_t b) {
        const auto rank = [&](std::size_t i) {
            return i == found.dense ? 0 : i == found.best ? 1 : 2;
        };
        if (rank(a) != rank(b)) return rank(a) < rank(b);
        return step_at(a, slowest) < step_at(b, slowest);
    });
    std::vector<std::size_t> order;
    std::vector<std::string> names;  // of a line, and of the first one that it would cover
    for (const std::size_t i : candidates) {
        constexpr std::size_t most_lines = 4;
        const auto like = std::find_if(order.begin(), order.end(), [&](std::size_t j) {
            return found.steps.size() > most_lines &&
                   std::abs(std::log(step_at(i, slowest) / step_at(j, slowest))) < 0.7;
        });
        const std::string& name = found.steps[i].way.name;
        if (like == order.end()) {
            if (order.size() == most_lines) continue;
            order.push_back(i);
            names.push_back(name);
        } else if (std::string& both = names[static_cast<std::size_t>(like - order.begin())];
                   both == found.steps[*like].way.name &&
                   std::abs(std::log(step_at(i, slowest) / step_at(*like, slowest))) < 0.05) {
            both += " / " + name;
        }
    }
    const auto colour = [&](std::size_t k) {
        const int run = found.steps[order[k]].way.run;
        return run < 0 ? chart::grey + k : static_cast<std::size_t>(run);
    };
    double least = step_at(order[0], fastest), most = least;
    for (const std::size_t i : order) {
        least = (std::min)(least, step_at(i, fastest));
        most = (std::max)(most, step_at(i, slowest));
    }
    least = (std::max)(least, 1e-9);
    chart c("Seconds of a step, by the bandwidth of the link",
            log_axis(
                8.0 * slowest, 8.0 * fastest, 10.0,
                [](double bits) { return bandwidth(bits / 8.0); }, 3.0),
            "bandwidth (logarithmic)",
            log_axis(std::pow(10.0, std::floor(std::log10(least))), (std::max)(most, 10.0 * least),
                     10.0, seconds));
    std::string says;
    for (std::size_t k = 0; k < order.size(); ++k) {
        std::vector<dot> line;
        constexpr int stretches = 64;
        for (int s = 0; s <= stretches; ++s) {
            const double rate = slowest * std::pow(fastest / slowest, double(s) / stretches);
            line.push_back({8.0 * rate, step_at(order[k], rate)});
        }
        c.line(line, colour(k), chart::weight::normal);
        c.name(line[4], names[k], colour(k));
    }
    for (std::size_t k = 0; k < order.size(); ++k) {
        const std::size_t i = order[k];
        const double meets = found.steps[i].pays_below_bytes_per_second;
        if (i == found.dense || !(meets > slowest) || !(meets < fastest)) continue;
        const std::string text = found.steps[i].way.name + " pays below " + bandwidth(meets);
        c.mark({8.0 * meets, step_at(i, meets)}, colour(k), text);
        says += text + ". ";
    }
    if (link_known) c.upright(8.0 * found.link.bytes_per_second, "this link");
    return c.svg(says.empty() ? "The lines do not cross." : says);
}

SOTTO_DECL std::string advice_section(const advice& found, bool link_known,
                                      const std::string& source) {
    struct column {
        std::string name;
        network_link link;
    };
    std::vector<column> columns;
    if (link_known)
        columns.push_back({"this link, " + bandwidth(found.link.bytes_per_second), found.link});
    for (const double rate : {12.5e6, 125e6, 1.25e9})
        if (!link_known || rate != found.link.bytes_per_second)
            columns.push_back({bandwidth(rate), {rate, found.link.latency_seconds}});
    std::string out = "<h2>Does it pay here?</h2>";
    if (link_known) out += "<p class=\"says\">" + escaped(found.sentence) + "</p>";
    out += "<p class=\"soft\">Predicted for " + std::to_string(found.world_size) + " workers, " +
           source + ", as computing " + seconds(found.compute_seconds) +
           " + compressing + bytes / bandwidth + messages × " +
           seconds(found.link.latency_seconds) +
           " of latency. Nothing is taken to hide behind computing: where it does, steps are "
           "shorter. A step that says less may learn less, too: accuracy is not in it, but of ways "
           "within 5 % of the fastest the one that says most is advised. Above 8 workers, entries "
           "of large tensors are selected once more: a step applies about as many of their sums "
           "as one worker sends, unless collectives::all_gather was asked for." +
           (link_known ? "" : " No link was given or measured: the latency is assumed.") + "</p>" +
           crossover_chart(found, link_known) +
           "<div class=\"scroll\"><table><caption>Predicted seconds of a step; ◂ is the fastest on "
           "its link</caption><thead><tr><th>gradients sent as</th><th>compressing</th><th>sent a "
           "step</th>";
    for (const column& c : columns) out += element("th", c.name);
    out += "<th>pays below</th></tr></thead>";
    const auto step_on = [&](std::size_t i, const column& c) {
        return predicted_seconds(found.compute_seconds, found.steps[i].way, c.link);
    };
    for (std::size_t i = 0; i < found.steps.size(); ++i) {
        const predicted_step& step = found.steps[i];
        out += "<tr><th>" + escaped(step.way.name, 60) +
               (link_known && i == found.best ? " <span class=\"soft\">(advised)</span>" : "") +
               "</th><td>" + seconds(step.way.compress_seconds) + "</td><td>" +
               bytes(step.way.transfer.bytes) + "</td>";
        for (const column& c : columns) {
            bool fastest = true;
            for (std::size_t j = 0; j < found.steps.size(); ++j)
                fastest = fastest && step_on(i, c) <= step_on(j, c);
            out += std::string("<td") + (fastest ? " class=\"best\"" : "") + ">" +
                   seconds(step_on(i, c)) + "</td>";
        }
        const double below = step.pays_below_bytes_per_second;
        out += "<td>" +
               (i == found.dense     ? std::string("–")
                : is_infinite(below) ? std::string("any bandwidth")
                : below > 0.0        ? bandwidth(below)
                                     : std::string("none")) +
               "</td></tr>";
    }
    return out + "</table></div>";
}

}  // namespace sotto::detail::reporting
