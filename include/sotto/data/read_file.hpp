#pragma once

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstddef>
#include <filesystem>
#include <string>

#include "sotto/core/bytes.hpp"
#include "sotto/core/descriptor.hpp"
#include "sotto/core/errors.hpp"

namespace sotto::data::detail {

/// All bytes of a file.
///   errors  io_failure, naming the file: it is no regular file, cannot be read, or gets shorter
///           meanwhile
inline bytes read_file(const std::filesystem::path& path) {
    using sotto::detail::system_reason;
    const auto refuse = [&](const std::string& why) {
        throw io_failure("cannot read '" + path.string() + "': " + why);
    };
    // Not blocking: the opening of a FIFO would wait for a process that writes into it.
    const auto file = sotto::detail::open_file(path.c_str(), O_RDONLY | O_NONBLOCK);
    struct ::stat facts {};
    if (!file || ::fstat(file.handle(), &facts) != 0) refuse(system_reason().message());
    if (S_ISDIR(facts.st_mode)) refuse("it is a folder; expected a regular file");
    if (!S_ISREG(facts.st_mode))
        refuse("it is a device, a FIFO or a socket; expected a regular file");
    bytes content(static_cast<std::size_t>(facts.st_size));
    std::size_t had = 0;
    while (had < content.size()) {
        const ::ssize_t got = sotto::detail::uninterrupted(
            [&] { return ::read(file.handle(), content.data() + had, content.size() - had); });
        if (got < 0) refuse(system_reason().message());
        if (got == 0)
            refuse("got " + std::to_string(had) + " of " + std::to_string(content.size()) +
                   " bytes");
        had += static_cast<std::size_t>(got);
    }
    return content;
}

}  // namespace sotto::data::detail
