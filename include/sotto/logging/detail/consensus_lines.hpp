#pragma once

#include <array>
#include <utility>

#include <nlohmann/json.hpp>

#include "sotto/core/detail/memory/finite.hpp"
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
inline nlohmann::ordered_json fields_of_consensus(const consensus_report& found) {
    auto fields = nlohmann::ordered_json::object();
    if (found.rounds >= 0) fields["rounds"] = found.rounds;
    for (const auto& [name, member] : consensus_members)
        if (is_finite(found.*member)) fields[name] = found.*member;
    if (found.missed) fields["missed"] = true;
    for (const auto& [name, member] : consensus_tensor_members)
        if (!(found.*member).empty()) fields[name] = found.*member;
    return fields;
}

/// Who mixes with whom, as json_lines writes it.
inline nlohmann::ordered_json fields_of_graph(const topologies::mixing_graph& graph) {
    auto links = nlohmann::ordered_json::array();
    for (const topologies::mixing_link& l : graph.links)
        links.push_back(nlohmann::ordered_json::array({l.from, l.to, l.weight}));
    nlohmann::ordered_json fields{{"ranks", graph.ranks}, {"period", graph.period}};
    if (!graph.topology.empty()) fields["topology"] = graph.topology;
    if (is_finite(graph.second_singular_value))
        fields["second_singular_value"] = graph.second_singular_value;
    if (is_finite(graph.p)) fields["p"] = graph.p;
    fields["degree"] = graph.degree;
    if (graph.bytes_a_round > 0) fields["bytes_a_round"] = graph.bytes_a_round;
    if (graph.ranks_may_go) fields["ranks_may_go"] = true;
    fields["link_count"] = graph.link_count;
    fields["links"] = std::move(links);
    return fields;
}

}  // namespace sotto::detail
