#pragma once

#include <filesystem>

#include "sotto/core/bytes.hpp"

namespace sotto::detail::data {

/// Returns all bytes of a regular file. Never blocks: a FIFO or a device is rejected.
///   errors  io_failure, naming the file: it is not a regular file, cannot be read or becomes
///           shorter during the read
bytes read_file(const std::filesystem::path& path);

}  // namespace sotto::detail::data

#ifndef SOTTO_SEPARATE_COMPILATION
#include "sotto/data/detail/read_file.ipp"
#endif
