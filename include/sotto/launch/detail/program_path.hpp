#pragma once

#include <string>

namespace sotto::detail::launch {

/// File that a shell would run: a name without '/' is searched in the folders of PATH.
///   errors  invalid_option: no folder has it
std::string program_path(const std::string& name);

}  // namespace sotto::detail::launch

#ifndef SOTTO_SEPARATE_COMPILATION
#include "sotto/launch/detail/program_path.ipp"
#endif
