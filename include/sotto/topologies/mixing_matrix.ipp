#pragma once

#include "sotto/topologies/mixing_matrix.hpp"

#include <algorithm>
#include <cmath>

#include "sotto/core/config.hpp"
#include "sotto/core/errors.hpp"
#include "sotto/core/require_option.hpp"

namespace sotto::topologies {

SOTTO_DECL float summable_weight(double weight) noexcept {
    return static_cast<float>(std::floor(weight * 0x1p24) * 0x1p-24);
}

SOTTO_DECL mixing_matrix::mixing_matrix(int size) {
    if (size < 1)
        throw invalid_option("topology: " + std::to_string(size) +
                             " ranks; at least 1 is possible");
    into_.resize(static_cast<std::size_t>(size));
    out_of_.resize(static_cast<std::size_t>(size));
}

SOTTO_DECL void mixing_matrix::clear() noexcept {
    for (auto& links : into_) links.clear();
    for (auto& links : out_of_) links.clear();
}

SOTTO_DECL mixing_matrix& mixing_matrix::link(int to, int from, double weight) {
    for (const int rank : {to, from})
        if (rank < 0 || rank >= size())
            throw invalid_option("topology: a link from rank " + std::to_string(from) + " to " +
                                 std::to_string(to) + ", but there are ranks 0 to " +
                                 std::to_string(size() - 1));
    if (!detail::allowed::at_least(0.0).holds(weight))
        throw invalid_option("topology: the link from rank " + std::to_string(from) + " to " +
                             std::to_string(to) + " has weight " + std::to_string(weight) +
                             "; it must be finite and at least 0");
    if (to == from || weight == 0.0) return *this;
    add(into_[index(to)], {from, weight});
    add(out_of_[index(from)], {to, weight});
    return *this;
}

SOTTO_DECL mixing_matrix& mixing_matrix::link_both(int a, int b, double weight) {
    link(a, b, weight);
    return link(b, a, weight);
}

SOTTO_DECL std::span<const detail::topologies::neighbour> mixing_matrix::into(
    int rank) const noexcept {
    return into_[index(rank)];
}

SOTTO_DECL std::span<const detail::topologies::neighbour> mixing_matrix::out_of(
    int rank) const noexcept {
    return out_of_[index(rank)];
}

SOTTO_DECL double mixing_matrix::weight(int to, int from) const noexcept {
    if (to == from) return own_weight(to);
    for (const detail::topologies::neighbour& n : into(to))
        if (n.rank == from) return n.weight;
    return 0.0;
}

SOTTO_DECL bool mixing_matrix::is_symmetric() const noexcept {
    for (int rank = 0; rank < size(); ++rank)
        if (into_[index(rank)] != out_of_[index(rank)]) return false;
    return true;
}

SOTTO_DECL bool mixing_matrix::is_mean() const noexcept {
    const double share = 1.0 / size();
    for (int rank = 0; rank < size(); ++rank) {
        if (std::ssize(into(rank)) != size() - 1) return false;
        for (const detail::topologies::neighbour& n : into(rank))
            if (std::abs(n.weight - share) > rounding) return false;
    }
    return true;
}

SOTTO_DECL void mixing_matrix::require_doubly_stochastic(std::int64_t round,
                                                         std::string_view name) const {
    for (int rank = 0; rank < size(); ++rank) {
        const double row = sum_of(into(rank)), column = sum_of(out_of(rank));
        if (row > 1.0 + rounding)
            refuse(round, name, "row " + std::to_string(rank) + " adds up to", row);
        if (std::abs(column - row) > rounding)
            refuse(round, name, "row " + std::to_string(rank) + " adds up to 1, its column to",
                   column + own_weight(rank));
    }
}

SOTTO_DECL void mixing_matrix::require_column_stochastic(std::int64_t round,
                                                         std::string_view name) const {
    for (int rank = 0; rank < size(); ++rank)
        if (const double column = sum_of(out_of(rank)); column >= 1.0 - rounding && size() > 1)
            refuse(round, name,
                   "the links out of rank " + std::to_string(rank) +
                       " take all that it has, or more: they add up to",
                   column);
}

SOTTO_DECL int mixing_matrix::most_of(
    const std::vector<std::vector<detail::topologies::neighbour>>& links) noexcept {
    std::size_t most = 0;
    for (const auto& of_rank : links) most = (std::max)(most, of_rank.size());
    return static_cast<int>(most);
}

SOTTO_DECL double mixing_matrix::sum_of(
    std::span<const detail::topologies::neighbour> links) noexcept {
    double sum = 0.0;
    for (const detail::topologies::neighbour& n : links) sum += n.weight;
    return sum;
}

SOTTO_DECL void mixing_matrix::add(std::vector<detail::topologies::neighbour>& links,
                                   detail::topologies::neighbour more) {
    const auto before = [](const detail::topologies::neighbour& n, int rank) {
        return n.rank < rank;
    };
    const auto at = std::lower_bound(links.begin(), links.end(), more.rank, before);
    if (at != links.end() && at->rank == more.rank)
        at->weight += more.weight;
    else
        links.insert(at, more);
}

SOTTO_DECL void mixing_matrix::refuse(std::int64_t round, std::string_view name,
                                      const std::string& what, double sum) {
    const std::string which = name.empty() ? "" : " '" + std::string(name) + "'";
    const std::string when = round < 0 ? "" : "in round " + std::to_string(round) + " ";
    throw invalid_option("topology" + which + ": " + when + what + " " + std::to_string(sum) +
                         "; rows and columns of a mixing matrix add up to 1, or the mean over "
                         "the ranks would drift: give a link the same weight both ways, or use "
                         "mixing::push_sum");
}

SOTTO_DECL mixing_matrix by_degree(int size, std::span<const std::pair<int, int>> edges) {
    mixing_matrix graph(size);  // only its degrees are used
    for (const auto& [a, b] : edges) graph.link_both(a, b, 1.0);
    mixing_matrix result(size);
    for (int rank = 0; rank < size; ++rank)
        for (const detail::topologies::neighbour& n : graph.into(rank))
            result.link(rank, n.rank,
                        1.0 / (1.0 + static_cast<double>((std::max)(graph.into(rank).size(),
                                                                    graph.into(n.rank).size()))));
    return result;
}

}  // namespace sotto::topologies
