#pragma once

#include "sotto/report/detail/sections/report_summary.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "sotto/core/config.hpp"
#include "sotto/core/detail/memory/finite.hpp"
#include "sotto/logging/detail/report_text.hpp"
#include "sotto/logging/detail/taught_summary.hpp"
#include "sotto/report/detail/charts/report_chart.hpp"
#include "sotto/report/detail/sections/report_terms.hpp"

namespace sotto::detail::reporting {

SOTTO_DECL bool knows_each(const run_log& run) noexcept {
    return !run.by_server() && run.ranks.size() > 1;
}

SOTTO_DECL double sent_by_one(const run_log& run) noexcept {
    return knows_each(run) ? sent_by(run.ranks).mean : run.total.bytes_sent;
}

SOTTO_DECL double sent_a_step(const run_log& run) noexcept {
    const auto each = [](const run_costs& costs, std::int64_t steps) {
        return costs.bytes_sent / static_cast<double>(std::max<std::int64_t>(steps, 1));
    };
    if (!knows_each(run)) return each(run.steady().first, run.steady().second);
    double sum = 0.0;
    for (const rank_total& r : run.ranks) sum += each(r.steady, r.steady_steps);
    return sum / static_cast<double>(run.ranks.size());
}

SOTTO_DECL std::string most_sent(const run_log& run) {
    const sent_by_ranks all = sent_by(run.ranks);
    if (!knows_each(run) || all.alike()) return "";
    return ", rank " + std::to_string(all.rank) + " " + bytes(all.most);
}

SOTTO_DECL std::string each_worker(const run_log& run) {
    const std::string in_the_end = run.changed_world ? " (in the end)" : "";
    const std::string all = std::to_string(run.workers()) + " workers";
    if (!most_sent(run).empty()) return "one of " + all + in_the_end + ", on average,";
    if (!run.by_server() && (!run.about.mixing || knows_each(run)))
        return "each of " + all + in_the_end;
    return "rank " + std::to_string(run.about.rank) + (serves_too(run) ? ", a server and " : ", ") +
           (run.workers() == 1 ? "the only worker" : "one of " + all) + in_the_end + ",";
}

SOTTO_DECL bool has_others(const run_log& run) noexcept {
    return run.workers() > 1 || run.by_server();
}

SOTTO_DECL double seconds_of_all(const run_log& run) noexcept {
    double took = run.seconds;
    for (const rank_total& r : run.ranks) took = (std::max)(took, r.seconds);
    return took;
}

SOTTO_DECL bool look_alike(double a, double b) noexcept {
    return std::abs(a - b) < 0.05 * b;
}

SOTTO_DECL bool sends_whole_gradients(const run_log& run) noexcept {
    return run.total.dense_bytes > 0.0 && run.total.message_bytes >= 0.95 * run.total.dense_bytes;
}

SOTTO_DECL const run_log* dense_beside(std::span<const run_log> runs, const run_log& run) noexcept {
    const auto is_known = [](const run_log& r) { return r.steps_missing == 0 && !r.changed_world; };
    if (!has_others(run) || !is_known(run)) return nullptr;
    for (const run_log& other : runs)
        if (is_known(other) && has_others(other) && other.workers() == run.workers() &&
            sends_whole_gradients(other) && same_tensors(other.about.tensors, run.about.tensors))
            return &other;
    return nullptr;
}

SOTTO_DECL const run_log::finished_epoch* reached(const run_log& run, double accuracy) noexcept {
    for (const run_log::finished_epoch& e : run.epochs)
        if (e.evaluated && e.evaluated->accuracy >= accuracy) return &e;
    return nullptr;
}

SOTTO_DECL std::optional<double> common_accuracy(std::span<const run_log> runs) noexcept {
    double common = 1.0;
    for (const run_log& run : runs) {
        if (run.steps_missing > 0) continue;
        double best = -1.0;
        for (const run_log::finished_epoch& e : run.epochs)
            if (e.evaluated) best = (std::max)(best, e.evaluated->accuracy);
        common = (std::min)(common, best);
    }
    return common > 0.0 && !runs.empty() ? std::optional(common) : std::nullopt;
}

SOTTO_DECL std::string element(const char* tag, const std::string& inner) {
    return "<" + std::string(tag) + ">" + inner + "</" + tag + ">";
}

SOTTO_DECL std::string key(std::size_t colour) {
    return "<i class=\"key f" + chart::place(colour) + "\"></i>";
}

SOTTO_DECL std::string all_workers(const run_log& run) {
    double steps = 0.0, sent = 0.0;
    for (const rank_total& r : run.ranks) {
        steps += static_cast<double>(r.steps);
        sent += r.total.bytes_sent;
    }
    const std::size_t known = run.ranks.size();
    return " (" + (std::ssize(run.ranks) < run.workers() ? "the " : std::string("all ")) +
           std::to_string(known) + (std::ssize(run.ranks) < run.workers() ? " with a log" : "") +
           " together " + bytes(sent) + " in " + counted(steps) + " steps)";
}

SOTTO_DECL std::string own_models(const evaluation& found, const std::string& said) {
    if (!found.own) return "";
    const bool share = is_finite(found.accuracy);
    const over_ranks& ranks = share ? found.own->accuracy : found.own->loss;
    const auto told = [&](double value) { return share ? percent(value) : digits(value); };
    return said + told(ranks.least) + " to " + told(ranks.most) + ", " + told(ranks.mean) +
           " on average";
}

SOTTO_DECL double sent_as_worker(const run_log& run) noexcept {
    return serves_too(run) ? run.total.message_bytes : sent_by_one(run);
}

SOTTO_DECL std::string beside_whole(const run_log& run) {
    const double dense = run.total.ring_bytes, sent = sent_as_worker(run);
    if (look_alike(dense, sent)) return "";
    if (sent > dense)
        return ", <b>" + times(sent / (std::max)(dense, 1.0)) + "</b> as much as " +
               (run.by_server() ? "whole gradients to a server would have been, "
                                : "an all-reduce of whole gradients would have, ") +
               bytes(dense);
    return std::string("; whole gradients ") + (run.by_server() ? "to a server" : "by a ring") +
           " would have been " + bytes(dense) + ", <b>" + times(dense / (std::max)(sent, 1.0)) +
           "</b> as much";
}

SOTTO_DECL std::string own_messages(const run_log& run) {
    return serves_too(run) ? serving_included(run) + "; its own messages are " +
                                 bytes(run.total.message_bytes) + " of that"
                           : "";
}

SOTTO_DECL std::string told_alone(const run_log& run) {
    const double sent = sent_by_one(run);
    std::string out = "<b>" + escaped(run.name, 80) + "</b>: ";
    if (run.steps == 0) return out + "no step was measured yet.";
    if (!has_others(run))
        out += "one worker, which had nothing to send, took " + seconds(run.seconds) +
               simulated_word(run) + " for " + counted(static_cast<double>(run.steps)) + " steps";
    else
        out += each_worker(run) + " sent <b>" + bytes(sent) + "</b>" + most_sent(run) +
               (run.by_server() ? " and received " + bytes(run.total.bytes_received) : "") +
               " in " + counted(static_cast<double>(run.steps)) + " steps";
    if (run.ranks.size() > 1) out += all_workers(run);
    if (has_others(run)) out += own_messages(run) + beside_whole(run);
    if (const run_log::finished_epoch* e = run.last_evaluated()) {
        const evaluation& found = *e->evaluated;
        out += is_finite(found.accuracy)
                   ? ". Accuracy on unseen data: <b>" + percent(found.accuracy)
                   : ". Loss on unseen data: <b>" + digits(found.loss);
        out += "</b>" + own_models(found, ", of ranks’ own models ");
    }
    if (const taught_record& taught = run.taught.record; taught.taught() > 0)
        out += ". Other models taught it in " + part_of_steps(taught.taught(), run.steps);
    return out + ".";
}

SOTTO_DECL std::string sent_beside(const run_log& run, const run_log& dense) {
    const double sent = sent_by_one(run), whole = sent_by_one(dense);
    const double fewer = whole / (std::max)(sent, 1.0);
    const std::string name = "<b>" + escaped(run.name, 80) + "</b>",
                      other = "<b>" + escaped(dense.name, 80) + "</b>";
    if (!serve_alike(run, dense))  // only one rank also serves, so a ratio has no meaning
        return name + ": " + each_worker(run) + " sent <b>" + bytes(sent) + "</b>" +
               most_sent(run) + own_messages(run) + ". In " + other + " " + each_worker(dense) +
               " sent " + bytes(whole) + most_sent(dense) + own_messages(dense) + ". " + name;
    return name + " sent <b>" +
           (look_alike(fewer, 1.0) ? std::string("as much</b> as")
            : fewer > 1.0          ? times(fewer) + " fewer bytes</b> than"
                                   : times(1.0 / fewer) + " as much</b> as") +
           " " + other + " (" + bytes(sent) +
           (bytes(sent) != bytes(whole) ? " instead of " + bytes(whole) : "") +
           (run.by_server() ? ", by rank " + std::to_string(run.about.rank) + ", which " +
                                  (serves_too(run) ? "serves too and " : "") + "received " +
                                  bytes(run.total.bytes_received) + ")"
                            : " a worker" + most_sent(run) + ")");
}

SOTTO_DECL std::string told_beside(const run_log& run, const run_log& dense) {
    std::string out = sent_beside(run, dense);
    const std::string comma = serve_alike(run, dense) ? "," : "";
    const run_log::finished_epoch *a = run.last_evaluated(), *b = dense.last_evaluated();
    if (a && b && is_finite(a->evaluated->accuracy) && is_finite(b->evaluated->accuracy)) {
        const double points = 100.0 * (a->evaluated->accuracy - b->evaluated->accuracy);
        out += comma + " ended at <b>" + percent(a->evaluated->accuracy) +
               "</b> accuracy instead of " + percent(b->evaluated->accuracy) + " (" +
               (points < 0.0 ? "−" : "+") + fixed(std::abs(points), 2) + " points)";
    } else if (a && b) {
        out += comma + " ended at a loss of <b>" + digits(a->evaluated->loss) +
               "</b> on unseen data instead of " + digits(b->evaluated->loss);
    }
    out += std::string((a && b) || !comma.empty() ? " and" : "") + " took <b>" +
           seconds(seconds_of_all(run)) + simulated_word(run) + "</b> instead of " +
           seconds(seconds_of_all(dense)) + simulated_word(dense);
    if (run.steps != dense.steps)
        out += ", in " + counted(static_cast<double>(run.steps)) + " steps instead of " +
               counted(static_cast<double>(dense.steps));
    return out + ".";
}

SOTTO_DECL std::string told(std::span<const run_log> runs) {
    std::string out;
    constexpr std::size_t most = 8;
    for (std::size_t i = 0, said = 0; i < runs.size() && said < most; ++i) {
        const run_log* dense = dense_beside(runs, runs[i]);
        const auto is_beside = [&](const run_log& other) {
            return &other != &runs[i] && dense_beside(runs, other) == &runs[i];
        };
        if (dense == &runs[i] && std::any_of(runs.begin(), runs.end(), is_beside)) continue;
        out += "<p class=\"says\">" +
               (dense && dense != &runs[i] ? told_beside(runs[i], *dense) : told_alone(runs[i])) +
               "</p>";
        ++said;
    }
    return out;
}

SOTTO_DECL std::string number_of_card(const std::string& value, const std::string& what) {
    return "<div><dt>" + what + "</dt><dd>" + value + "</dd></div>";
}

SOTTO_DECL std::string served_in_card(const run_log& run) {
    const auto [steady, steps] = run.steady();
    const auto ratio = [](const run_costs& c) {
        return c.message_bytes / (std::max)(c.ring_bytes, 1.0);
    };
    const auto a_step = static_cast<double>(std::max<std::int64_t>(steps, 1));
    const std::string who = each_worker(run);
    std::string out =
        number_of_card(bytes(run.total.bytes_sent),
                       "sent by " + who.substr(0, who.size() - 1) + serving_included(run)) +
        number_of_card(bytes(run.total.bytes_received),
                       "received by it, pushes of all workers included") +
        number_of_card(bytes(run.total.message_bytes), "of what it sent its own messages, " +
                                                           bytes(steady.message_bytes / a_step) +
                                                           " a step in the last epoch");
    const double share = ratio(run.total), later = ratio(steady);
    if (look_alike(share, 1.0)) return out;
    return out +
           (share < 1.0
                ? number_of_card(times(1.0 / (std::max)(share, 1e-9)),
                                 "smaller messages than whole gradients to a server; " +
                                     times(1.0 / (std::max)(later, 1e-9)) + " in the last epoch")
                : number_of_card(times(share),
                                 "as large messages as whole gradients to a server; " +
                                     times(later) + " in the last epoch"));
}

SOTTO_DECL std::string sent_in_card(const run_log& run) {
    const auto [steady, steps] = run.steady();
    const double sent = sent_by_one(run), step = sent_a_step(run);
    const double ratio = run.total.ring_bytes / (std::max)(sent, 1.0);
    const double later = steady.ring_bytes / (std::max)(step * static_cast<double>(steps), 1.0);
    const std::string who = each_worker(run);
    std::string out = number_of_card(
        bytes(sent), "sent by " + who + (who.back() == ',' ? " " : ", ") + bytes(step) +
                         " a step in the last epoch" +
                         (most_sent(run).empty() ? "" : "; in all" + most_sent(run)));
    if (run.by_server()) {
        out += number_of_card(bytes(run.total.bytes_received),
                              "received by it: the server’s answers, which no ratio here counts");
        if (look_alike(ratio, 1.0)) return out;
    }
    if (sends_whole_gradients(run) && !run.by_server() && (ratio >= 1.0 || look_alike(ratio, 1.0)))
        return out +
               number_of_card(times(ratio), "whole gradients, as a ring all-reduce sends them");
    const std::string in_the_end = " in the last epoch";
    if (ratio < 1.0 && !look_alike(ratio, 1.0))
        return out + number_of_card(times(1.0 / ratio),
                                    (run.by_server()
                                         ? "as many bytes sent as whole gradients to a server; "
                                         : "as many bytes as an all-reduce of whole gradients by a "
                                           "ring; ") +
                                        times(1.0 / later) + in_the_end);
    return out +
           number_of_card(times(ratio),
                          (run.by_server() ? "fewer bytes sent than whole gradients to a server; "
                                           : "fewer bytes than whole gradients by a ring; ") +
                              times(later) + in_the_end);
}

SOTTO_DECL std::string card(const run_log& run, std::size_t colour) {
    std::string out = "<section class=\"card c" + chart::place(colour) + "\"><h3>" +
                      escaped(run.name, 80) + "</h3><dl class=\"big\">";
    const auto number = [&](const std::string& value, const std::string& what) {
        out += number_of_card(value, what);
    };
    const run_log::finished_epoch* tested = run.last_evaluated();
    if (tested && is_finite(tested->evaluated->accuracy))
        number(percent(tested->evaluated->accuracy),
               "accuracy on unseen data" + whose_model(run) + ", loss " +
                   digits(tested->evaluated->loss) +
                   own_models(*tested->evaluated, "; of ranks’ own models "));
    else if (tested)
        number(digits(tested->evaluated->loss),
               "loss on unseen data" + whose_model(run) +
                   own_models(*tested->evaluated, "; of ranks’ own models "));
    else
        number(run.epochs.empty() ? "–" : digits(run.epochs.back().loss),
               "loss while training, " + whose_loss(run));
    const double took = seconds_of_all(run);
    number(seconds(took) + simulated_word(run),
           counted(static_cast<double>(run.steps)) + " steps, " +
               counted(run.total.examples_of_all / (std::max)(took, 1e-9)) +
               (run.workers() > 1 ? " examples/s of " + std::to_string(run.workers()) + " workers"
                                  : std::string(" examples/s")));
    if (has_others(run) && run.steps > 0)
        out += serves_too(run) ? served_in_card(run) : sent_in_card(run);
    return out + "</dl></section>";
}

SOTTO_DECL std::string cards(std::span<const run_log> runs) {
    std::string out = "<div class=\"cards\">";
    for (std::size_t i = 0; i < runs.size(); ++i) out += card(runs[i], i);
    return out + "</div>";
}

SOTTO_DECL std::string equal_accuracy(std::span<const run_log> runs) {
    const auto common = common_accuracy(runs);
    const auto whole = std::count_if(runs.begin(), runs.end(),
                                     [](const run_log& run) { return run.steps_missing == 0; });
    if (whole < 2 || !common) return {};
    std::string out = "<div class=\"scroll\"><table><caption>To reach " + percent(*common) +
                      " accuracy on unseen data, which all runs did" +
                      (whole < std::ssize(runs) ? " that are known from their first step on" : "") +
                      " (looked at after every epoch)." + said_of_times(runs) +
                      "</caption><thead><tr><th>run</th>"
                      "<th>steps</th><th>time</th><th>sent by a worker</th></tr></thead>";
    for (std::size_t i = 0; i < runs.size(); ++i) {
        const run_log::finished_epoch* e = reached(runs[i], *common);
        if (!e || runs[i].steps_missing > 0) continue;
        out += "<tr><th>" + key(i) + escaped(runs[i].name, 60) + "</th><td>" +
               counted(static_cast<double>(e->step)) + "</td><td>" + seconds(e->seconds) +
               "</td><td>" + bytes(e->bytes_sent) +
               (serves_too(runs[i]) ? ", serving included" : "") + "</td></tr>";
    }
    return out + "</table></div>";
}

}  // namespace sotto::detail::reporting
