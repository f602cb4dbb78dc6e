#pragma once

#include <array>
#include <span>
#include <utility>

#include <nlohmann/json_fwd.hpp>

#include "sotto/strategies/detail/rank_loss.hpp"
#include "sotto/strategies/detail/server_memory.hpp"
#include "sotto/strategies/server_report.hpp"

namespace sotto::detail {

/// Members of a log's "server_memory".
inline constexpr std::array server_memory_members{
    std::pair{"parameters_bytes", &server_memory::parameters},
    std::pair{"optimizer_bytes", &server_memory::optimizer},
    std::pair{"compensator_bytes", &server_memory::compensator},
    std::pair{"versions_bytes_max", &server_memory::versions},
    std::pair{"changes_bytes_max", &server_memory::changes},
    std::pair{"messages_bytes_max", &server_memory::messages}};

nlohmann::ordered_json fields_of_memory(const server_memory& memory);

/// Returns lost ranks in the format of json_lines.
nlohmann::ordered_json fields_of_losses(std::span<const rank_loss> losses);

/// Returns a server's report in the format of json_lines.
nlohmann::ordered_json line_of_server(const server_report& server);

}  // namespace sotto::detail

#ifndef SOTTO_SEPARATE_COMPILATION
#include "sotto/logging/detail/server_lines.ipp"
#endif
