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
    int to = 0;                      // another one
    std::optional<double> weight{};  // of all of them or of none
    std::int64_t line = 0;           // of the file that it was read from, for errors
};

}  // namespace sotto::detail::topologies

namespace sotto::topologies {

/// A graph of the user's own.
///   math    without weights: by degree, or, of links that go one way, 1 / (1 + links out of their
///           rank), as push-sum wants them. With weights these, and what they leave of 1 is the
///           rank's own. Each link goes both ways unless `directed`
///   shape   the same link twice counts once where there are no weights, and adds up where there
///           are
///   errors  invalid_option, naming the line of the file that a link was read from: a rank that is
///           none; a weight below 0 or not finite; weights of some links and not of others. A
///           matrix is refused where it is used, see mixing_matrix
struct edge_list {
    std::vector<detail::topologies::edge> edges{};  // in any order
    bool directed = false;                          // whether links go only from `from` to `to`
    std::string file{};                             // that they were read from, for errors and logs

    /// Of the file, if it is known.
    std::string name() const { return file.empty() ? "edge_list" : file; }

    auto bind(int size) const {
        const bool has_weights = weighted();
        mixing_matrix graph(size);  // without weights, of links that count for one
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

/// The words of a line, up to a '#'.
std::vector<std::string_view> words_of(std::string_view line);

}  // namespace sotto::detail::topologies

namespace sotto::topologies {

/// Reads a graph: a line for each link, two ranks and perhaps its weight, blanks or commas between;
/// what follows a '#' is not read.
///   errors  io_failure: it is no regular file or cannot be read; malformed, naming the line
edge_list read_edge_list(const std::string& file, bool directed = false);

}  // namespace sotto::topologies

#ifndef SOTTO_SEPARATE_COMPILATION
#include "sotto/topologies/edge_list.ipp"
#endif
