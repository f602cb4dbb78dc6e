#pragma once

#include "sotto/core/detail/files/read_text.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cstddef>

#include "sotto/core/config.hpp"
#include "sotto/core/detail/files/descriptor.hpp"

namespace sotto::detail {

SOTTO_DECL std::string read_text(const char* path, std::error_code& why) {
    std::string text;
    why.clear();
    const descriptor file = open_file(path, O_RDONLY);
    if (!file) return why = system_reason(), text;
    constexpr std::size_t piece = 1 << 16;
    while (true) {
        const std::size_t had = text.size();
        text.resize(had + piece);
        const ::ssize_t got =
            uninterrupted([&] { return ::read(file.handle(), text.data() + had, piece); });
        if (got < 0) why = system_reason();
        text.resize(had + static_cast<std::size_t>(got > 0 ? got : 0));
        if (got <= 0) return text;
    }
}

}  // namespace sotto::detail
