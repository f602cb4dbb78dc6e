#pragma once

#include <string>
#include <system_error>

namespace sotto::detail {

/// Returns the whole content of a file, a pipe or an entry of /proc.
///   errors  `why`; returns the text that was read before the failure
std::string read_text(const char* path, std::error_code& why);

}  // namespace sotto::detail

#ifndef SOTTO_SEPARATE_COMPILATION
#include "sotto/core/detail/files/read_text.ipp"
#endif
