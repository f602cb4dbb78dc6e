#pragma once

#include <string>
#include <system_error>

namespace sotto::detail {

/// The whole content of a file, a pipe or an entry of /proc.
///   errors  `why`; what was read until then is returned
std::string read_text(const char* path, std::error_code& why);

}  // namespace sotto::detail

#ifndef SOTTO_SEPARATE_COMPILATION
#include "sotto/core/detail/files/read_text.ipp"
#endif
