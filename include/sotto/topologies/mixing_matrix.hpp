#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "sotto/core/config.hpp"

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
float summable_weight(double weight) noexcept;

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
    explicit mixing_matrix(int size);

    /// Ranks.
    int size() const noexcept { return static_cast<int>(into_.size()); }

    /// No links any more; memory stays for as many.
    void clear() noexcept;

    /// What `from` has counts for `weight` at `to`. A link that is there already weighs more then;
    /// one of a rank to itself adds nothing to its own weight but what others leave.
    mixing_matrix& link(int to, int from, double weight);

    /// Both ways.
    mixing_matrix& link_both(int a, int b, double weight);

    /// Those whose values a rank mixes with its own, ascending.
    std::span<const detail::topologies::neighbour> into(int rank) const noexcept;
    /// Those that mix in the rank's values, ascending.
    std::span<const detail::topologies::neighbour> out_of(int rank) const noexcept;

    /// What `from` counts for at `to`: the matrix's entry in row `to`.
    double weight(int to, int from) const noexcept;
    /// What its links leave of a row.
    double own_weight(int rank) const noexcept { return 1.0 - sum_of(into(rank)); }
    /// What its links leave of a column: what a rank that shares itself out keeps.
    double kept_share(int rank) const noexcept { return 1.0 - sum_of(out_of(rank)); }

    /// The most links out of a rank, and into one.
    int degree() const noexcept { return most_of(out_of_); }
    /// The most links into a rank.
    int degree_in() const noexcept { return most_of(into_); }

    /// Whether every link weighs the same both ways.
    bool is_symmetric() const noexcept;

    /// Whether everybody gets the mean of all in this round.
    bool is_mean() const noexcept;

    /// The mean over all ranks is kept.
    ///   cost    O(ranks + links), no memory
    ///   errors  invalid_option: rows or columns that do not add up to 1, naming the first, and the
    ///           round and the topology, where they are given
    void require_doubly_stochastic(std::int64_t round = -1, std::string_view name = {}) const;

    /// The sum over all ranks is kept: each shares out all that it has, and keeps something itself.
    ///   cost    O(ranks + links), no memory
    ///   errors  invalid_option: a column whose links take all or more, and the round and the
    ///           topology, where they are given
    void require_column_stochastic(std::int64_t round = -1, std::string_view name = {}) const;

    friend bool operator==(const mixing_matrix&, const mixing_matrix&) = default;

private:
    static std::size_t index(int rank) noexcept { return static_cast<std::size_t>(rank); }

    static int most_of(
        const std::vector<std::vector<detail::topologies::neighbour>>& links) noexcept;

    static double sum_of(std::span<const detail::topologies::neighbour> links) noexcept;

    static void add(std::vector<detail::topologies::neighbour>& links,
                    detail::topologies::neighbour more);

    [[noreturn]] static void refuse(std::int64_t round, std::string_view name,
                                    const std::string& what, double sum);

    std::vector<std::vector<detail::topologies::neighbour>> into_, out_of_;
};

/// Weights for a graph of any shape: w_ij = 1 / (1 + max(degree of i, degree of j)), which a rank
/// knows of its links alone.
///   shape   edges: pairs of ranks, each link both ways; the same pair twice counts once
///   source  Xiao, Boyd, Kim 2007, Distributed average consensus with least-mean-square deviation
///           (Metropolis-Hastings weights)
mixing_matrix by_degree(int size, std::span<const std::pair<int, int>> edges);

}  // namespace sotto::topologies

#ifndef SOTTO_SEPARATE_COMPILATION
#include "sotto/topologies/mixing_matrix.ipp"
#endif
