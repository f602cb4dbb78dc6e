#pragma once

#include <filesystem>
#include <system_error>

#include "sotto/core/bytes.hpp"
#include "sotto/core/detail/files/descriptor.hpp"
#include "sotto/core/errors.hpp"
#include "sotto/core/detail/files/input_file.hpp"

namespace sotto::detail::data {

/// All bytes of a regular file. It never blocks: a FIFO or a device is refused.
///   errors  io_failure, naming the file: what is no regular file, cannot be read or becomes
///           shorter meanwhile
inline bytes read_file(const std::filesystem::path& path) {
    std::error_code why;
    bytes content = sotto::detail::read_regular(path, why);
    if (why) throw io_failure("cannot read '" + path.string() + "': " + why.message());
    return content;
}

}  // namespace sotto::detail::data
