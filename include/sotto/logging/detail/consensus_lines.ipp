#pragma once

#include "sotto/logging/detail/consensus_lines.hpp"

#include <nlohmann/json.hpp>

#include "sotto/core/config.hpp"
#include "sotto/core/detail/memory/finite.hpp"

namespace sotto::detail {

SOTTO_DECL nlohmann::ordered_json fields_of_consensus(const consensus_report& found) {
    auto fields = nlohmann::ordered_json::object();
    if (found.rounds >= 0) fields["rounds"] = found.rounds;
    for (const auto& [name, member] : consensus_members)
        if (is_finite(found.*member)) fields[name] = found.*member;
    if (found.missed) fields["missed"] = true;
    for (const auto& [name, member] : consensus_tensor_members)
        if (!(found.*member).empty()) fields[name] = found.*member;
    return fields;
}

SOTTO_DECL nlohmann::ordered_json fields_of_graph(const topologies::mixing_graph& graph) {
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
