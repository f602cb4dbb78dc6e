#pragma once

#include <cerrno>
#include <cstring>
#include <string>

#include "sotto/core/detail/files/descriptor.hpp"
#include "sotto/core/errors.hpp"

namespace sotto::detail::launch {

using sotto::detail::above_standard;
using sotto::detail::descriptor;
using sotto::detail::pipe_ends;
using sotto::detail::uninterrupted;

/// The system refused something; errno says why.
[[noreturn]] inline void refuse_by_system(const std::string& what) {
    throw io_failure("launch: " + what + ": " + std::strerror(errno));
}

/// A pipe; io_failure if the system has none left.
inline pipe_ends open_pipe() {
    pipe_ends ends = pipe_ends::open();
    if (!ends.read) refuse_by_system("the system has no pipe left");
    return ends;
}

}  // namespace sotto::detail::launch
