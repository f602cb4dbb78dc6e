#pragma once

#include <filesystem>

#include "sotto/core/bytes.hpp"

namespace sotto::detail::data {

/// All bytes of a regular file. It never blocks: a FIFO or a device is refused.
///   errors  io_failure, naming the file: what is no regular file, cannot be read or becomes
///           shorter meanwhile
bytes read_file(const std::filesystem::path& path);

}  // namespace sotto::detail::data

#ifndef SOTTO_SEPARATE_COMPILATION
#include "sotto/data/detail/read_file.ipp"
#endif
