#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "sotto/core/describe.hpp"
#include "sotto/topologies/mixing_matrix.hpp"
#include "sotto/topologies/topology.hpp"

namespace sotto::detail::topologies {

/// A link between two ranks.
struct edge {
    int from = 0;                    // a rank
    int to = 0;                      // another rank
    std::optional<double> weight{};  // set for all edges or for none
    std::int64_t line = 0;           // line of the file it was read from, for errors; 0: none
};

}  // namespace sotto::detail::topologies

namespace sotto::topologies {

/// A user-defined graph. Each link goes both ways unless `directed` is set.
///   math    without weights: by degree, or for directed links 1 / (1 + links out of their rank),
///           as push-sum requires. With weights: a rank's own weight is 1 minus the weights of its
///           links
///   shape   a repeated link counts once without weights. With weights its weights add up
///   errors  invalid_option, naming the line of the file a link was read from: a rank out of range;
///           a weight below 0 or not finite; weights for some links and not for others. An
///           unsuitable matrix is rejected where it is used, see mixing_matrix
struct edge_list {
    std::vector<detail::topologies::edge> edges{};  // in any order
    bool directed = false;                          // true: links go only from `from` to `to`
    std::string file{};                             // file of the edges, for errors and logs

    /// Returns the file's name if known.
    std::string name() const { return file.empty() ? "edge_list" : file; }

    auto bind(int size) const {
        const bool has_weights = weighted();
        mixing_matrix graph(size);  // without weights, each link counts as 1
        for (const detail::topologies::edge& e : edges) add(graph, e);
        if (has_weights) return topologies::repeated(std::move(graph));
        if (!directed) {
            std::vector<std::pair<int, int>> pairs;
            for (const detail::topologies::edge& e : edges) pairs.emplace_back(e.from, e.to);
            return topologies::repeated(by_degree(size, pairs));
        }
        mixing_matrix matrix(size);
        for (int rank = 0; rank < size; ++rank)
            for (const detail::topologies::neighbour& n : graph.out_of(rank))
                matrix.link(n.rank, rank,
                            1.0 / (1.0 + static_cast<double>(graph.out_of(rank).size())));
        return topologies::repeated(std::move(matrix));
    }

    void describe(auto&& field) const {
        field("directed", directed);
        std::string text;
        for (const detail::topologies::edge& e : edges) {
            text +=
                (text.empty() ? "" : ", ") + std::to_string(e.from) + "-" + std::to_string(e.to);
            if (e.weight) sotto::detail::append_number(text += " ", *e.weight);
        }
        field("edges", text);
    }

private:
    std::string place_of(const detail::topologies::edge& e) const;

    void add(mixing_matrix& to, const detail::topologies::edge& e) const;

    bool weighted() const;
};

}  // namespace sotto::topologies

namespace sotto::detail::topologies {

/// Returns the words of a line up to a '#'.
std::vector<std::string_view> words_of(std::string_view line);

}  // namespace sotto::detail::topologies

namespace sotto::topologies {

/// Reads a graph from a file. Each line is a link: two ranks and an optional weight, separated by
/// blanks or commas. Text after a '#' is ignored.
///   errors  io_failure: the file is not regular or cannot be read; malformed, naming the line
edge_list read_edge_list(const std::string& file, bool directed = false);

}  // namespace sotto::topologies

#ifndef SOTTO_SEPARATE_COMPILATION
#include "sotto/topologies/edge_list.ipp"
#endif
