#pragma once

#include <fcntl.h>

#include <filesystem>
#include <system_error>

#include "sotto/core/bytes.hpp"
#include "sotto/core/detail/files/descriptor.hpp"

namespace sotto::detail {

/// Returns the properties of a file; follows links.
///   errors  `why`: the system's reason, or file_fault::dangling_link
struct ::stat facts_of_path(const char* path, std::error_code& why) noexcept;

/// Opens a regular file for reading, and never blocks. It refuses a FIFO, folder, socket or device
/// before opening it, because opening some devices has effects.
///   errors  empty; `why` is the system's reason or a file_fault
descriptor open_regular(const char* path, std::error_code& why) noexcept;

/// Same as a stream.
input_stream open_regular_stream(const char* path, std::error_code& why) noexcept;

/// Returns all bytes of a regular file, as many as it had when it was opened.
///   errors  empty; `why` is the system's reason or a file_fault
bytes read_regular(const std::filesystem::path& path, std::error_code& why);

}  // namespace sotto::detail

#ifndef SOTTO_SEPARATE_COMPILATION
#include "sotto/core/detail/files/input_file.ipp"
#endif
