#pragma once

#include "sotto/core/detail/files/input_file.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <span>
#include <utility>

#include "sotto/core/config.hpp"
#include "sotto/core/detail/files/file_kind.hpp"

namespace sotto::detail {

SOTTO_DECL struct ::stat facts_of_path(const char* path, std::error_code& why) noexcept {
    struct ::stat facts {
    }, link{};
    why.clear();
    if (::stat(path, &facts) == 0) return facts;
    why = system_reason();
    if (errno == ENOENT && ::lstat(path, &link) == 0 && S_ISLNK(link.st_mode))
        why = file_fault::dangling_link;
    return facts;
}

SOTTO_DECL descriptor open_regular(const char* path, std::error_code& why) noexcept {
    struct ::stat facts = facts_of_path(path, why);
    if (!why) why = why_not_regular(facts);
    if (why) return {};
    descriptor file = open_file(path, O_RDONLY | O_NONBLOCK | O_NOCTTY);
    // Another file may have replaced it since.
    if (!file || ::fstat(file.handle(), &facts) != 0)
        why = system_reason();
    else
        why = why_not_regular(facts);
    if (why) file.close();
    return file;
}

SOTTO_DECL input_stream open_regular_stream(const char* path, std::error_code& why) noexcept {
    descriptor opened = open_regular(path, why);
    if (why) return nullptr;
    input_stream stream = stream_of(std::move(opened));
    if (!stream) why = system_reason();
    return stream;
}

SOTTO_DECL bytes read_regular(const std::filesystem::path& path, std::error_code& why) {
    const descriptor file = open_regular(path.c_str(), why);
    if (why) return {};
    struct ::stat facts {};
    if (::fstat(file.handle(), &facts) != 0) return why = system_reason(), bytes();
    bytes content(static_cast<std::size_t>(facts.st_size));
    for (std::span rest(content); !rest.empty();) {
        const auto got =
            uninterrupted([&] { return ::read(file.handle(), rest.data(), rest.size()); });
        if (got < 0) return why = system_reason(), bytes();
        if (got == 0) return why = file_fault::shortened_while_read, bytes();
        rest = rest.subspan(static_cast<std::size_t>(got));
    }
    return content;
}

}  // namespace sotto::detail
