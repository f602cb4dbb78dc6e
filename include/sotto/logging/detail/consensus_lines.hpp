#pragma once

#include <array>
#include <utility>

#include <nlohmann/json_fwd.hpp>

#include "sotto/strategies/consensus_report.hpp"
#include "sotto/topologies/detail/mixing_graph.hpp"

namespace sotto::detail {

/// Members of a step's "consensus" that a line omits if they were not measured.
inline constexpr std::array consensus_members{
    std::pair{"change", &consensus_report::change},
    std::pair{"estimate", &consensus_report::estimate},
    std::pair{"distance", &consensus_report::distance},
    std::pair{"target", &consensus_report::target},
    std::pair{"critical", &consensus_report::critical},
    std::pair{"learning_rate", &consensus_report::learning_rate},
    std::pair{"gradient_norm", &consensus_report::gradient_norm}};

/// Members with one value per tensor.
inline constexpr std::array consensus_tensor_members{
    std::pair{"squared_changes", &consensus_report::squared_changes},
    std::pair{"squared_distances", &consensus_report::squared_distances}};

/// Returns the consensus of a step in the format of json_lines.
nlohmann::ordered_json fields_of_consensus(const consensus_report& found);

/// Returns the mixing graph in the format of json_lines.
nlohmann::ordered_json fields_of_graph(const topologies::mixing_graph& graph);

}  // namespace sotto::detail

#ifndef SOTTO_SEPARATE_COMPILATION
#include "sotto/logging/detail/consensus_lines.ipp"
#endif
