#pragma once

#include <array>
#include <cstddef>
#include <map>
#include <numbers>
#include <string>
#include <utility>

#include "sotto/topologies/detail/mixing_graph.hpp"

namespace sotto::detail::reporting {

/// Who mixes with whom: ranks around a circle from the top, a line for each link, the wider the
/// more it weighs. A link that goes one way is bent, with a dot near the rank that it goes to.
///   cost    O(ranks + links); nothing is drawn of more than 512 ranks or 2,048 lines
class mixing_circle {
public:
    static constexpr int ranks_max = 512;           // of a graph that is drawn
    static constexpr std::size_t lines_max = 2048;  // of a graph that is drawn

    /// Refers to the graph.
    explicit mixing_circle(const topologies::mixing_graph& graph);

    /// Whether there is something to be drawn, and not too much.
    bool is_drawn() const noexcept;

    /// What the graph is, in words.
    std::string told() const;

    /// The drawing; its text says the graph in words.
    std::string svg() const;

private:
    static constexpr double width = 400.0, height = 250.0, radius = 92.0;
    static constexpr int labels_max = 40;

    std::pair<double, double> place(int rank, double away) const;

    std::string begun(double weight) const;

    std::string ended(const std::string& between, double weight) const;

    void line(int a, int b, double weight, std::string& out) const;

    void bend(int from, int to, double weight, std::string& out) const;

    static constexpr std::size_t titles_max = 256;

    const topologies::mixing_graph* graph_;
    std::map<std::pair<int, int>, std::array<double, 2>> links_;  // up, and down
    double heaviest_ = 0.0;
};

}  // namespace sotto::detail::reporting

#ifndef SOTTO_SEPARATE_COMPILATION
#include "sotto/report/detail/sections/report_graph.ipp"
#endif
