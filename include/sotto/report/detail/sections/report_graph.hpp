#pragma once

#include <array>
#include <cstddef>
#include <map>
#include <numbers>
#include <string>
#include <utility>

#include "sotto/topologies/detail/mixing_graph.hpp"

namespace sotto::detail::reporting {

/// The mixing graph: ranks on a circle from the top, and a line for each link, wider for more
/// weight. A one-way link is curved, with a dot near the rank that receives.
///   cost    O(ranks + links); draws at most 512 ranks and 2,048 lines
class mixing_circle {
public:
    static constexpr int ranks_max = 512;           // most ranks of a drawing
    static constexpr std::size_t lines_max = 2048;  // most lines of a drawing

    /// Refers to the graph.
    explicit mixing_circle(const topologies::mixing_graph& graph);

    /// True if the graph has something to draw, within these limits.
    bool is_drawn() const noexcept;

    /// Returns a description of the graph.
    std::string told() const;

    /// Returns the drawing, with the description as its text.
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
