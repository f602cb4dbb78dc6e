#pragma once

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <filesystem>
#include <span>
#include <string>
#include <system_error>
#include <type_traits>
#include <utility>

#include "sotto/core/bytes.hpp"
#include "sotto/core/descriptor.hpp"
#include "sotto/core/file_kind.hpp"

namespace sotto::detail {

/// Why a path is no input, beyond what the system reports.
enum class input_fault {
    is_folder = 1,
    is_device,
    is_fifo,
    is_socket,
    dangling_link,
    shortened,
};

class input_fault_category final : public std::error_category {
public:
    const char* name() const noexcept override { return "sotto.input"; }
    std::string message(int code) const override {
        constexpr const char* regular = "; expected a regular file";
        switch (static_cast<input_fault>(code)) {
            case input_fault::is_folder: return std::string("it is a folder") + regular;
            case input_fault::is_device: return std::string("it is a device") + regular;
            case input_fault::is_fifo: return std::string("it is a FIFO") + regular;
            case input_fault::is_socket: return std::string("it is a socket") + regular;
            case input_fault::dangling_link:
                return "it is a symbolic link to a path that does not exist";
            case input_fault::shortened: return "it became shorter while it was read";
        }
        return "unknown fault of an input";
    }
};

inline std::error_code make_error_code(input_fault fault) noexcept {
    static const input_fault_category instance;
    return {static_cast<int>(fault), instance};
}

}  // namespace sotto::detail

template <>
struct std::is_error_code_enum<sotto::detail::input_fault> : std::true_type {};

namespace sotto::detail {

/// Why this is no regular file to read; nothing if it is one.
inline std::error_code why_no_input(const struct ::stat& file) noexcept {
    const std::error_code other = why_not_regular(file);
    if (!other) return other;
    if (other == file_fault::is_folder) return input_fault::is_folder;
    if (other == file_fault::is_fifo) return input_fault::is_fifo;
    if (other == file_fault::is_socket) return input_fault::is_socket;
    return input_fault::is_device;
}

/// The facts of what the path leads to; links are followed.
///   errors  `why`: the system's reason, or input_fault::dangling_link
inline struct ::stat facts_of_path(const char* path, std::error_code& why) noexcept {
    struct ::stat facts {
    }, link{};
    why.clear();
    if (::stat(path, &facts) == 0) return facts;
    why = system_reason();
    if (errno == ENOENT && ::lstat(path, &link) == 0 && S_ISLNK(link.st_mode))
        why = input_fault::dangling_link;
    return facts;
}

/// Opens a regular file for reading. It never blocks: a FIFO, a folder, a socket or a device is
/// refused before it is opened, since opening some devices has effects.
///   errors  none; `why` is the system's reason or an input_fault
inline descriptor open_regular(const char* path, std::error_code& why) noexcept {
    struct ::stat facts = facts_of_path(path, why);
    if (!why) why = why_no_input(facts);
    if (why) return {};
    descriptor file = open_file(path, O_RDONLY | O_NONBLOCK | O_NOCTTY);
    // Something else may have the path by now.
    if (!file || ::fstat(file.handle(), &facts) != 0)
        why = system_reason();
    else
        why = why_no_input(facts);
    if (why) file.close();
    return file;
}

/// The same as a stream.
inline input_stream open_regular_stream(const char* path, std::error_code& why) noexcept {
    descriptor opened = open_regular(path, why);
    if (why) return nullptr;
    input_stream stream = stream_of(std::move(opened));
    if (!stream) why = system_reason();
    return stream;
}

/// All bytes of a regular file, as many as it had when it was opened.
///   errors  empty; `why` is the system's reason or an input_fault
inline bytes read_regular(const std::filesystem::path& path, std::error_code& why) {
    const descriptor file = open_regular(path.c_str(), why);
    if (why) return {};
    struct ::stat facts {};
    if (::fstat(file.handle(), &facts) != 0) return why = system_reason(), bytes();
    bytes content(static_cast<std::size_t>(facts.st_size));
    for (std::span rest(content); !rest.empty();) {
        const auto got =
            uninterrupted([&] { return ::read(file.handle(), rest.data(), rest.size()); });
        if (got < 0) return why = system_reason(), bytes();
        if (got == 0) return why = input_fault::shortened, bytes();
        rest = rest.subspan(static_cast<std::size_t>(got));
    }
    return content;
}

}  // namespace sotto::detail
