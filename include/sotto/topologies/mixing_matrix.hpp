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

/// A linked rank and the weight of the link.
struct neighbour {
    int rank = 0;         // the linked rank
    double weight = 0.0;  // entry of the row, or of the column

    friend bool operator==(const neighbour&, const neighbour&) = default;
};

}  // namespace sotto::detail::topologies

namespace sotto::topologies {

/// Returns `weight` rounded so that float sums of such weights are exact up to 1. Kept and sent
/// shares, or added and subtracted ones, then add up exactly.
///   math    the largest multiple of 2^-24 that does not exceed it; the error is below 6e-8
float summable_weight(double weight) noexcept;

/// The links and weights of one round: x_i becomes the sum over j of w_ij x_j. A rank's own weight
/// is 1 minus the weights of its links, so a matrix mixes differences.
///   math    x_i + sum over j of w_ij (x_j - x_i). The mean over all ranks is kept if rows and
///           columns add up to 1. If w_ij = w_ji, each link keeps it
///   cost    O(ranks + links) memory. After `clear`, as many links as before allocate nothing
///   errors  link throws invalid_option: a rank out of range, a weight below 0 or not finite
class mixing_matrix {
public:
    /// Tolerance for sums of weights.
    static constexpr double rounding = 1e-9;

    /// Creates a matrix of `size` ranks without links. Throws invalid_option below 1.
    explicit mixing_matrix(int size);

    /// Number of ranks.
    int size() const noexcept { return static_cast<int>(into_.size()); }

    /// Removes all links and keeps their memory.
    void clear() noexcept;

    /// Adds `weight` to the link from `from` to `to`. A rank's own weight is always 1 minus its
    /// links, so a link to itself has no effect.
    mixing_matrix& link(int to, int from, double weight);

    /// Adds the link in both directions.
    mixing_matrix& link_both(int a, int b, double weight);

    /// Returns the ranks whose values `rank` mixes in, ascending.
    std::span<const detail::topologies::neighbour> into(int rank) const noexcept;
    /// Returns the ranks that mix in the value of `rank`, ascending.
    std::span<const detail::topologies::neighbour> out_of(int rank) const noexcept;

    /// Returns the entry in row `to` and column `from`.
    double weight(int to, int from) const noexcept;
    /// Returns 1 minus the links of the row.
    double own_weight(int rank) const noexcept { return 1.0 - sum_of(into(rank)); }
    /// Returns 1 minus the links of the column: the share a rank keeps when it sends shares.
    double kept_share(int rank) const noexcept { return 1.0 - sum_of(out_of(rank)); }

    /// Most links out of a rank.
    int degree() const noexcept { return most_of(out_of_); }
    /// Most links into a rank.
    int degree_in() const noexcept { return most_of(into_); }

    /// True if every link has the same weight in both directions.
    bool is_symmetric() const noexcept;

    /// True if one round gives every rank the mean of all.
    bool is_mean() const noexcept;

    /// Checks that the matrix keeps the mean over all ranks.
    ///   cost    O(ranks + links), no allocation
    ///   errors  invalid_option: the first row or column that does not add up to 1, with the round
    ///           and the topology if given
    void require_doubly_stochastic(std::int64_t round = -1, std::string_view name = {}) const;

    /// Checks that the matrix keeps the sum over all ranks: each rank sends shares of its value and
    /// keeps one.
    ///   cost    O(ranks + links), no allocation
    ///   errors  invalid_option: a column whose links add up to 1 or more, with the round and the
    ///           topology if given
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

/// Returns weights for a graph of any shape: w_ij = 1 / (1 + max(degree of i, degree of j)). A rank
/// needs only its own links and its neighbours' degrees.
///   shape   edges: pairs of ranks, each a link both ways; a repeated pair counts once
///   source  Xiao, Boyd, Kim 2007, Distributed average consensus with least-mean-square deviation
///           (Metropolis-Hastings weights)
mixing_matrix by_degree(int size, std::span<const std::pair<int, int>> edges);

}  // namespace sotto::topologies

#ifndef SOTTO_SEPARATE_COMPILATION
#include "sotto/topologies/mixing_matrix.ipp"
#endif
