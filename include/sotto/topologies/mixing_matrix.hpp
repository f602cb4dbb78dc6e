#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "sotto/core/errors.hpp"
#include "sotto/core/require_option.hpp"

namespace sotto::detail::topologies {

/// Another rank, and what values that go between the two count for.
struct neighbour {
    int rank = 0;         // the other rank
    double weight = 0.0;  // in the row, or the column

    friend bool operator==(const neighbour&, const neighbour&) = default;
};

}  // namespace sotto::detail::topologies

namespace sotto::topologies {

/// A weight as a float of which sums are floats, too, up to 1: so that what a rank gives away and
/// what it keeps, or what comes in and what goes for it, add up exactly.
///   math    the multiple of 2^-24 at or below it: off by less than 6e-8
inline float summable_weight(double weight) noexcept {
    return static_cast<float>(std::floor(weight * 0x1p24) * 0x1p-24);
}

/// Who mixes with whom in a round, with what weight: x_i becomes the sum over j of w_ij x_j. A
/// rank's own weight is what its links leave of 1, so that a matrix mixes by differences:
///   math    x_i + sum over j of w_ij (x_j - x_i);  the mean over all ranks is kept where rows and
///           columns add up to 1, and where w_ij = w_ji it is kept link by link
///   cost    O(ranks + links) of memory; none is taken after clear where as many links come again
///   errors  link throws invalid_option: a rank that is none of them, a weight below 0 or not
///           finite
class mixing_matrix {
public:
    /// By how much sums of weights may be off.
    static constexpr double rounding = 1e-9;

    /// Of so many ranks without links: each keeps its own. Throws invalid_option below 1.
    explicit mixing_matrix(int size) {
        if (size < 1)
            throw invalid_option("topology: " + std::to_string(size) +
                                 " ranks; at least 1 is possible");
        into_.resize(static_cast<std::size_t>(size));
        out_of_.resize(static_cast<std::size_t>(size));
    }

    /// Ranks.
    int size() const noexcept { return static_cast<int>(into_.size()); }

    /// No links any more; memory stays for as many.
    void clear() noexcept {
        for (auto& links : into_) links.clear();
        for (auto& links : out_of_) links.clear();
    }

    /// What `from` has counts for `weight` at `to`. A link that is there already weighs more then;
    /// one of a rank to itself adds nothing to its own weight but what others leave.
    mixing_matrix& link(int to, int from, double weight) {
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

    /// Both ways.
    mixing_matrix& link_both(int a, int b, double weight) {
        link(a, b, weight);
        return link(b, a, weight);
    }

    /// Those whose values a rank mixes with its own, ascending.
    std::span<const detail::topologies::neighbour> into(int rank) const noexcept {
        return into_[index(rank)];
    }
    /// Those that mix in the rank's values, ascending.
    std::span<const detail::topologies::neighbour> out_of(int rank) const noexcept {
        return out_of_[index(rank)];
    }

    /// What `from` counts for at `to`: the matrix's entry in row `to`.
    double weight(int to, int from) const noexcept {
        if (to == from) return own_weight(to);
        for (const detail::topologies::neighbour& n : into(to))
            if (n.rank == from) return n.weight;
        return 0.0;
    }
    /// What its links leave of a row.
    double own_weight(int rank) const noexcept { return 1.0 - sum_of(into(rank)); }
    /// What its links leave of a column: what a rank that shares itself out keeps.
    double own_share(int rank) const noexcept { return 1.0 - sum_of(out_of(rank)); }

    /// The most links out of a rank, and into one.
    int degree() const noexcept { return most_of(out_of_); }
    /// The most links into a rank.
    int degree_in() const noexcept { return most_of(into_); }

    /// Whether every link weighs the same both ways.
    bool is_symmetric() const noexcept {
        for (int rank = 0; rank < size(); ++rank)
            if (into_[index(rank)] != out_of_[index(rank)]) return false;
        return true;
    }

    /// Whether everybody gets the mean of all in this round.
    bool is_mean() const noexcept {
        const double share = 1.0 / size();
        for (int rank = 0; rank < size(); ++rank) {
            if (std::ssize(into(rank)) != size() - 1) return false;
            for (const detail::topologies::neighbour& n : into(rank))
                if (std::abs(n.weight - share) > rounding) return false;
        }
        return true;
    }

    /// The mean over all ranks is kept.
    ///   cost    O(ranks + links), no memory
    ///   errors  invalid_option: rows or columns that do not add up to 1, naming the first, and the
    ///           round and the topology, where they are given
    void require_doubly_stochastic(std::int64_t round = -1, std::string_view name = {}) const {
        for (int rank = 0; rank < size(); ++rank) {
            const double row = sum_of(into(rank)), column = sum_of(out_of(rank));
            if (row > 1.0 + rounding)
                refuse(round, name, "row " + std::to_string(rank) + " adds up to", row);
            if (std::abs(column - row) > rounding)
                refuse(round, name, "row " + std::to_string(rank) + " adds up to 1, its column to",
                       column + own_weight(rank));
        }
    }

    /// The sum over all ranks is kept: each shares out all that it has, and keeps something itself.
    ///   cost    O(ranks + links), no memory
    ///   errors  invalid_option: a column whose links take all or more, and the round and the
    ///           topology, where they are given
    void require_column_stochastic(std::int64_t round = -1, std::string_view name = {}) const {
        for (int rank = 0; rank < size(); ++rank)
            if (const double column = sum_of(out_of(rank)); column >= 1.0 - rounding && size() > 1)
                refuse(round, name,
                       "the links out of rank " + std::to_string(rank) +
                           " take all that it has, or more: they add up to",
                       column);
    }

    friend bool operator==(const mixing_matrix&, const mixing_matrix&) = default;

private:
    static std::size_t index(int rank) noexcept { return static_cast<std::size_t>(rank); }

    static int most_of(
        const std::vector<std::vector<detail::topologies::neighbour>>& links) noexcept {
        std::size_t most = 0;
        for (const auto& of_rank : links) most = (std::max)(most, of_rank.size());
        return static_cast<int>(most);
    }

    static double sum_of(std::span<const detail::topologies::neighbour> links) noexcept {
        double sum = 0.0;
        for (const detail::topologies::neighbour& n : links) sum += n.weight;
        return sum;
    }

    static void add(std::vector<detail::topologies::neighbour>& links,
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

    [[noreturn]] static void refuse(std::int64_t round, std::string_view name,
                                    const std::string& what, double sum) {
        const std::string which = name.empty() ? "" : " '" + std::string(name) + "'";
        const std::string when = round < 0 ? "" : "in round " + std::to_string(round) + " ";
        throw invalid_option("topology" + which + ": " + when + what + " " + std::to_string(sum) +
                             "; rows and columns of a mixing matrix add up to 1, or the mean over "
                             "the ranks would drift: give a link the same weight both ways, or use "
                             "mixing::push_sum");
    }

    std::vector<std::vector<detail::topologies::neighbour>> into_, out_of_;
};

/// Weights for a graph of any shape: w_ij = 1 / (1 + max(degree of i, degree of j)), which a rank
/// knows of its links alone.
///   shape   edges: pairs of ranks, each link both ways; the same pair twice counts once
///   source  Xiao, Boyd, Kim 2007, Distributed average consensus with least-mean-square deviation
///           (Metropolis-Hastings weights)
inline mixing_matrix by_degree(int size, std::span<const std::pair<int, int>> edges) {
    mixing_matrix graph(size);  // of links that count for as many as there are
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
