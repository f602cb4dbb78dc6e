#pragma once

#include "sotto/strategies/detail/server_memory.hpp"

#include "sotto/core/config.hpp"

namespace sotto::detail {

SOTTO_DECL std::int64_t server_memory::together() const noexcept {
    return parameters + optimizer + compensator + versions + changes + messages;
}

}  // namespace sotto::detail
