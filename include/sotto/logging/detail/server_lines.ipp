#pragma once

#include "sotto/logging/detail/server_lines.hpp"

#include <nlohmann/json.hpp>

#include "sotto/core/config.hpp"

namespace sotto::detail {

SOTTO_DECL nlohmann::ordered_json fields_of_memory(const server_memory& memory) {
    auto fields = nlohmann::ordered_json::object();
    for (const auto& [name, member] : server_memory_members) fields[name] = memory.*member;
    return fields;
}

SOTTO_DECL nlohmann::ordered_json fields_of_losses(std::span<const rank_loss> losses) {
    auto fields = nlohmann::ordered_json::array();
    for (const rank_loss& l : losses) {
        fields.push_back({{"rank", l.rank}, {"cause", l.cause}, {"lost_rounds", l.rounds}});
        if (l.step >= 0) fields.back()["step"] = l.step;
        if (l.seconds >= 0.0) fields.back()["seconds"] = l.seconds;
        if (l.again_step >= 0) fields.back()["again_step"] = l.again_step;
    }
    return fields;
}

SOTTO_DECL nlohmann::ordered_json line_of_server(const server_report& server) {
    auto workers = nlohmann::ordered_json::array();
    for (const served_worker& w : server.workers) {
        workers.push_back({{"rank", w.rank},
                           {"rounds", w.rounds},
                           {"dropped", w.dropped},
                           {"dropped_share", w.dropped_share()},
                           {"waited_seconds", w.waited},
                           {"staleness", w.staleness}});
        if (w.lost > 0) workers.back()["lost_rounds"] = w.lost;
    }
    nlohmann::ordered_json line{{"event", "server"},
                                {"rank", server.rank},
                                {"version", server.version},
                                {"dropped_share", server.dropped_share()},
                                {"workers", std::move(workers)}};
    if (const auto& saves = server.saves) {
        line["saves"] = {{"folder", saves->folder},
                         {"written", saves->written},
                         {"failed", saves->failed},
                         {"last_step", saves->last_step}};
        if (saves->failed > 0) line["saves"]["failure"] = saves->failure;
    }
    return line;
}

}  // namespace sotto::detail
