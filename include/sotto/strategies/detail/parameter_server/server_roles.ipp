#pragma once

#include "sotto/strategies/detail/parameter_server/server_roles.hpp"

#include <string>

#include "sotto/core/config.hpp"
#include "sotto/core/errors.hpp"
#include "sotto/core/require_option.hpp"

namespace sotto::detail {

SOTTO_DECL server_roles::server_roles(int servers, bool dedicated, int rank, int ranks)
    : servers_(servers), first_worker_(dedicated ? servers : 0), rank_(rank), ranks_(ranks) {
    require_option("parameter_server", "servers", servers, allowed::at_least(1).at_most(ranks),
                   ", the number of ranks");
    if (workers() < 1)
        throw invalid_option("parameter_server: dedicated servers on all ranks, which are " +
                             std::to_string(ranks) + "; one at least must work");
}

SOTTO_DECL int server_roles::worker_of(int rank) const noexcept {
    return rank >= first_worker_ ? rank - first_worker_ : -1;
}

}  // namespace sotto::detail
