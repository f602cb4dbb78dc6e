#pragma once

#include "sotto/report/detail/sections/report_graph.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "sotto/core/config.hpp"
#include "sotto/core/detail/memory/finite.hpp"
#include "sotto/logging/detail/report_text.hpp"

namespace sotto::detail::reporting {

SOTTO_DECL mixing_circle::mixing_circle(const topologies::mixing_graph& graph) : graph_(&graph) {
    if (graph.ranks > ranks_max) return;
    for (const topologies::mixing_link& l : graph.links) {
        if (l.from == l.to) continue;
        auto& both = links_[{(std::min)(l.from, l.to), (std::max)(l.from, l.to)}];
        both[l.from < l.to ? 0 : 1] += l.weight;
        heaviest_ = (std::max)({heaviest_, both[0], both[1]});
    }
}

SOTTO_DECL bool mixing_circle::is_drawn() const noexcept {
    const bool is_whole = !graph_->links.empty() || graph_->link_count == 0;
    return graph_->ranks <= ranks_max && is_whole && links_.size() <= lines_max;
}

SOTTO_DECL std::string mixing_circle::told() const {
    const auto& g = *graph_;
    std::string out = (g.topology.empty() ? "" : g.topology + ": ") + counted(g.ranks) +
                      (g.ranks == 1 ? " rank, " : " ranks, ") +
                      counted(static_cast<double>(g.link_count)) +
                      (g.link_count == 1 ? " link one way" : " links, each way counted");
    if (g.degree > 0)
        out += ", at most " + counted(g.degree) + " of a rank in a round" +
               (g.period == 0 ? " of those seen" : "");
    if (g.period == 0)
        out += ", drawn anew for each round: these are the mean of " +
               std::to_string(topologies::mixing_graph::rounds_seen_max) + " rounds";
    else if (g.period > 1)
        out += ", which take turns over " + counted(static_cast<double>(g.period)) + " rounds";
    if (is_finite(g.second_singular_value))
        out += ". A round leaves at most " + percent(g.second_singular_value, 1) +
               " of the distance between ranks (λ)";
    if (is_finite(g.p))
        out += std::string(is_finite(g.second_singular_value) ? ", " : ". Expected is ") +
               "p = 1 − λ² = " + digits(g.p);
    if (g.bytes_a_round > 0)
        out += ". In a round a rank sends at most " + bytes(static_cast<double>(g.bytes_a_round));
    if (g.ranks_may_go) out += ". This is of all ranks: where some were missing it was another";
    if (!is_drawn()) out += ". Too much to be drawn";
    return out;
}

SOTTO_DECL std::string mixing_circle::svg() const {
    std::string out = "<svg viewBox=\"0 0 " + at(width) + " " + at(height) +
                      "\" role=\"img\" aria-label=\"Who mixes with whom. " + escaped(told()) +
                      "\"><text class=\"h\" x=\"0\" y=\"13\">Who mixes with whom</text>";
    for (const auto& [pair, both] : links_) {
        const bool alike = std::abs(both[0] - both[1]) <= 1e-9 * heaviest_;
        if (alike) {
            line(pair.first, pair.second, both[0], out);
        } else {
            bend(pair.first, pair.second, both[0], out);
            bend(pair.second, pair.first, both[1], out);
        }
    }
    const double size = std::clamp(160.0 / graph_->ranks, 1.5, 6.0);
    for (int rank = 0; rank < graph_->ranks; ++rank) {
        const auto [x, y] = place(rank, radius);
        out += "<circle class=\"node\" cx=\"" + at(x) + "\" cy=\"" + at(y) + "\" r=\"" + at(size) +
               "\"/>";
        if (graph_->ranks > labels_max) continue;
        const auto [tx, ty] = place(rank, radius + 14.0);
        out += "<text class=\"t\" x=\"" + at(tx) + "\" y=\"" + at(ty + 4.0) +
               "\" text-anchor=\"middle\">" + std::to_string(rank) + "</text>";
    }
    return out + "</svg>";
}

SOTTO_DECL std::pair<double, double> mixing_circle::place(int rank, double away) const {
    const double angle = 2.0 * std::numbers::pi * rank / graph_->ranks;
    return {width / 2.0 + away * std::sin(angle), height / 2.0 + 6.0 - away * std::cos(angle)};
}

SOTTO_DECL std::string mixing_circle::begun(double weight) const {
    const double share = heaviest_ > 0.0 ? weight / heaviest_ : 0.0;
    return "<path class=\"edge\" stroke-width=\"" + at(0.4 + 2.0 * share) + "\" d=\"M";
}

SOTTO_DECL std::string mixing_circle::ended(const std::string& between, double weight) const {
    if (links_.size() > titles_max) return "\"/>";
    return "\"><title>" + between + ": weight " + digits(weight) + "</title></path>";
}

SOTTO_DECL void mixing_circle::line(int a, int b, double weight, std::string& out) const {
    const auto [ax, ay] = place(a, radius);
    const auto [bx, by] = place(b, radius);
    out += begun(weight) + at(ax) + " " + at(ay) + "L" + at(bx) + " " + at(by) +
           ended("ranks " + std::to_string(a) + " and " + std::to_string(b), weight);
}

SOTTO_DECL void mixing_circle::bend(int from, int to, double weight, std::string& out) const {
    if (!(weight > 0.0)) return;
    const auto [ax, ay] = place(from, radius);
    const auto [bx, by] = place(to, radius);
    const double cx = (ax + bx) / 2.0 + 0.12 * (by - ay), cy = (ay + by) / 2.0 - 0.12 * (bx - ax);
    out += begun(weight) + at(ax) + " " + at(ay) + "Q" + at(cx) + " " + at(cy) + " " + at(bx) +
           " " + at(by) +
           ended("from rank " + std::to_string(from) + " to " + std::to_string(to), weight);
    constexpr double t = 0.85;  // position along the curve
    const auto on = [](double a, double c, double b) {
        return (1.0 - t) * (1.0 - t) * a + 2.0 * t * (1.0 - t) * c + t * t * b;
    };
    out += "<circle class=\"tip\" cx=\"" + at(on(ax, cx, bx)) + "\" cy=\"" + at(on(ay, cy, by)) +
           "\" r=\"2\"/>";
}

}  // namespace sotto::detail::reporting
