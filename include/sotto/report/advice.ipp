#pragma once

#include "sotto/report/advice.hpp"

#include <algorithm>
#include <limits>

#include "sotto/core/config.hpp"
#include "sotto/core/errors.hpp"
#include "sotto/core/require_option.hpp"
#include "sotto/logging/detail/report_text.hpp"

namespace sotto {

SOTTO_DECL double exchange_seconds(const detail::way_to_send& way,
                                   const network_link& link) noexcept {
    constexpr double vote = 2.0;
    const bool silent = way.transfer.bytes <= 0.0 && way.transfer.messages <= 0.0;
    return silent ? 0.0 : way.transfer.seconds(link) + vote * link.latency_seconds;
}

SOTTO_DECL double predicted_seconds(double compute_seconds, const detail::way_to_send& way,
                                    const network_link& link) noexcept {
    return compute_seconds + way.compress_seconds + exchange_seconds(way, link);
}

SOTTO_DECL double crossover_bytes_per_second(const detail::way_to_send& dense,
                                             const detail::way_to_send& sparse,
                                             double latency_seconds) noexcept {
    const double saved = dense.transfer.bytes - sparse.transfer.bytes;
    const double paid = sparse.compress_seconds - dense.compress_seconds +
                        (sparse.transfer.messages - dense.transfer.messages) * latency_seconds;
    if (saved <= 0.0 && paid >= 0.0) return 0.0;
    if (saved >= 0.0 && paid <= 0.0) return std::numeric_limits<double>::infinity();
    // With fewer bytes it pays below this bandwidth. With more bytes and less work it pays only
    // above, so never below.
    return saved > 0.0 ? saved / paid : 0.0;
}

SOTTO_DECL std::string reason(const advice& found) {
    using detail::reporting::seconds;
    const detail::predicted_step& dense = found.steps[found.dense];
    const detail::predicted_step& best = found.steps[found.best];
    std::string network =
        "a network of " + detail::reporting::bandwidth(found.link.bytes_per_second);
    if (found.link.latency_seconds > 0.0)
        network += " and " + seconds(found.link.latency_seconds) + " a message";
    network += " between " + std::to_string(found.world_size) + " workers";
    const auto on_network = [&dense] {
        const double part = dense.transfer_seconds, whole = dense.step_seconds;
        return detail::reporting::percent(whole > 0.0 ? part / whole : 0.0, 0);
    };
    if (found.world_size == 1)
        return "Send nothing: there is one worker, and nobody to send gradients to.";
    if (found.best != found.dense)
        return "Use " + best.way.name + ": a step takes " + seconds(best.step_seconds) +
               " instead of " + seconds(dense.step_seconds) + " (" +
               detail::reporting::times(dense.step_seconds / best.step_seconds) +
               " as fast), because whole gradients would spend " + on_network() + " of theirs on " +
               network + " and compressing costs " + seconds(best.way.compress_seconds) + "." +
               (best.way.reselects ? " A step then applies about as many sums of entries as one "
                                     "worker sends, the others wait: collectives::all_gather{} "
                                     "applies all, for more bytes."
                                   : "");
    std::size_t other = found.dense;  // fastest of the other ways
    double below = 0.0;
    for (std::size_t i = 0; i < found.steps.size(); ++i) {
        if (i == found.dense) continue;
        if (other == found.dense || found.steps[i].step_seconds < found.steps[other].step_seconds)
            other = i;
        below = (std::max)(below, (std::min)(found.steps[i].pays_below_bytes_per_second, 1e18));
    }
    const std::string spent = "Send whole gradients: they spend " + on_network() + " of a step (" +
                              seconds(dense.transfer_seconds) + ") on " + network;
    if (other == found.dense) return spent + ", and no other way was given to compare them with.";
    const detail::predicted_step& next = found.steps[other];
    const double saved = dense.transfer_seconds - next.transfer_seconds;
    const double paid = next.way.compress_seconds - dense.way.compress_seconds;
    std::string why;
    if (next.step_seconds < dense.step_seconds)
        why = spent + ", and with " + next.way.name + " it would take " +
              seconds(next.step_seconds) + " instead of " + seconds(dense.step_seconds) +
              ", a gain below 5\u202f%";
    else if (saved > 0.0)
        why = "Send whole gradients: " + next.way.name + " would save " + seconds(saved) +
              " of a step on " + network + ", but compressing costs " + seconds(paid) + " more";
    else
        why = spent + ", and " + next.way.name + ", the fastest of the others, no less";
    if (saved <= 0.0 && next.way.message_bytes < dense.way.message_bytes &&
        next.way.transfer.bytes > dense.way.transfer.bytes)
        why += "; its messages are shorter, but those of all " + std::to_string(found.world_size) +
               " workers go to everybody";
    return why + (below > 0.0 && below < 1e18 ? "; compression breaks even below " +
                                                    detail::reporting::bandwidth(below) + "."
                                              : ".");
}

}  // namespace sotto

namespace sotto::detail {

SOTTO_DECL void check_asked(const double& compute_seconds, const network_link& link,
                            int world_size) {
    check_link("advise", link);
    require_option("advise", "world_size", world_size, allowed::at_least(1));
    require_option("advise", "compute_seconds", compute_seconds, allowed::at_least(0.0));
}

}  // namespace sotto::detail

namespace sotto {

SOTTO_DECL advice advise(double compute_seconds, const network_link& link, int world_size,
                         std::span<const detail::way_to_send> ways) {
    detail::check_asked(compute_seconds, link, world_size);
    const auto dense_ways = std::count_if(ways.begin(), ways.end(),
                                          [](const detail::way_to_send& way) { return way.dense; });
    if (dense_ways != 1)
        throw invalid_option("advise: " + std::to_string(dense_ways) +
                             " of the ways to send are dense; the others are compared with one");
    advice out{.link = link, .world_size = world_size, .compute_seconds = compute_seconds};
    for (std::size_t i = 0; i < ways.size(); ++i) {
        out.steps.push_back({.way = ways[i],
                             .transfer_seconds = exchange_seconds(ways[i], link),
                             .step_seconds = predicted_seconds(compute_seconds, ways[i], link)});
        if (ways[i].dense) out.dense = i;
    }
    for (std::size_t i = 0; i < ways.size(); ++i) {
        detail::predicted_step& step = out.steps[i];
        if (!step.way.dense)
            step.pays_below_bytes_per_second = crossover_bytes_per_second(
                out.steps[out.dense].way, step.way, link.latency_seconds);
        if (step.step_seconds < out.steps[out.best].step_seconds) out.best = i;
    }
    // A way that sends less may learn less. A gain below 5 % is within the noise between runs, so
    // it does not justify that.
    const double good_enough = 1.05 * out.steps[out.best].step_seconds;
    for (std::size_t i = 0; i < ways.size(); ++i)
        if (out.steps[i].step_seconds <= good_enough &&
            ways[i].message_bytes > ways[out.best].message_bytes)
            out.best = i;
    if (out.steps[out.dense].step_seconds <= good_enough) out.best = out.dense;
    out.sentence = reason(out);
    return out;
}

}  // namespace sotto
