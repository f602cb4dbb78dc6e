#pragma once

#include "sotto/launch/detail/system_calls.hpp"

#include <cerrno>
#include <cstring>

#include "sotto/core/config.hpp"
#include "sotto/core/errors.hpp"

namespace sotto::detail::launch {

SOTTO_DECL void refuse_by_system(const std::string& what) {
    throw io_failure("launch: " + what + ": " + std::strerror(errno));
}

SOTTO_DECL pipe_ends open_pipe() {
    pipe_ends ends = pipe_ends::open();
    if (!ends.read) refuse_by_system("the system has no pipe left");
    return ends;
}

}  // namespace sotto::detail::launch
