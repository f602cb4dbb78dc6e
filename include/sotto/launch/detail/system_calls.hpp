#pragma once

#include <string>

#include "sotto/core/detail/files/descriptor.hpp"

namespace sotto::detail::launch {

using sotto::detail::above_standard;
using sotto::detail::descriptor;
using sotto::detail::pipe_ends;
using sotto::detail::uninterrupted;

/// Throws io_failure: the system refused a call; errno has the cause.
[[noreturn]] void refuse_by_system(const std::string& what);

/// Opens a pipe; throws io_failure if the system has none left.
pipe_ends open_pipe();

}  // namespace sotto::detail::launch

#ifndef SOTTO_SEPARATE_COMPILATION
#include "sotto/launch/detail/system_calls.ipp"
#endif
