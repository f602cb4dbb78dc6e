#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <ios>
#include <string>
#include <system_error>

#include "sotto/core/bytes.hpp"
#include "sotto/core/errors.hpp"

namespace sotto::data::detail {

/// All bytes of a file.
///   errors  io_failure, naming the file: what is no file, cannot be read or gets shorter meanwhile
inline bytes read_file(const std::filesystem::path& path) {
    std::error_code why;
    const std::uintmax_t size = std::filesystem::file_size(path, why);
    if (why) throw io_failure("cannot read " + path.string() + ": " + why.message());
    bytes content(static_cast<std::size_t>(size));
    std::ifstream file(path, std::ios::binary);
    file.read(reinterpret_cast<char*>(content.data()), static_cast<std::streamsize>(size));
    if (!file)
        throw io_failure("cannot read " + path.string() + ": got " + std::to_string(file.gcount()) +
                         " of " + std::to_string(size) + " bytes");
    return content;
}

}  // namespace sotto::data::detail
