#pragma once

#include <array>
#include <utility>

#include <nlohmann/json_fwd.hpp>

#include "sotto/strategies/consensus_report.hpp"
#include "sotto/topologies/detail/mixing_graph.hpp"

namespace sotto::detail {

/// The members of a step's "consensus" that are left out where they were not measured.
inline constexpr std::array consensus_members{
    std::pair{"change", &consensus_report::change},
    std::pair{"estimate", &consensus_report::estimate},
    std::pair{"distance", &consensus_report::distance},
    std::pair{"target", &consensus_report::target},
    std::pair{"critical", &consensus_report::critical},
    std::pair{"learning_rate", &consensus_report::learning_rate},
    std::pair{"gradient_norm", &consensus_report::gradient_norm}};

/// Those that have a value for each tensor.
inline constexpr std::array consensus_tensor_members{
    std::pair{"squared_changes", &consensus_report::squared_changes},
    std::pair{"squared_distances", &consensus_report::squared_distances}};

/// How far ranks are apart, as json_lines writes it.
nlohmann::ordered_json fields_of_consensus(const consensus_report& found);

/// Who mixes with whom, as json_lines writes it.
nlohmann::ordered_json fields_of_graph(const topologies::mixing_graph& graph);

}  // namespace sotto::detail

#ifndef SOTTO_SEPARATE_COMPILATION
#include "sotto/logging/detail/consensus_lines.ipp"
#endif
