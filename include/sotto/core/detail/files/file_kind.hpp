#pragma once

#include <sys/stat.h>

#include <filesystem>
#include <string>
#include <system_error>
#include <type_traits>

namespace sotto::detail {

/// What is wrong with a file, beyond what the system reports.
enum class file_fault {
    is_folder = 1,
    is_device,
    is_fifo,
    is_socket,
    is_standard_stream,
    dangling_link,
    removed,
    renamed,
    shortened,
    shortened_while_read,
    no_reader,
    slow_reader,
};

class file_fault_category final : public std::error_category {
public:
    const char* name() const noexcept override { return "sotto.file"; }
    std::string message(int code) const override;
};

std::error_code make_error_code(file_fault fault) noexcept;

}  // namespace sotto::detail

template <>
struct std::is_error_code_enum<sotto::detail::file_fault> : std::true_type {};

namespace sotto::detail {

/// Whether what had been written to a file is gone, or no longer under its name.
bool is_loss(const std::error_code& reason) noexcept;

/// Whether something else than a regular file has the name: no other attempt changes that.
bool is_no_regular_file(const std::error_code& reason) noexcept;

/// Why a file cannot be replaced, for messages: a path at which nothing exists is possible, too.
std::string why_not_replaced(const std::error_code& reason);

/// Whether two paths or descriptors were found to be one file.
bool is_same_file(const struct ::stat& a, const struct ::stat& b) noexcept;

/// Whether it is what stdin, stdout or stderr of this process is, as /dev/stdout is.
bool is_standard_stream(const struct ::stat& file) noexcept;

/// Why this is no regular file; nothing if it is one.
std::error_code why_not_regular(const struct ::stat& file) noexcept;

/// Whether a path names a device, links followed.
bool is_device(const std::filesystem::path& path) noexcept;

/// Follows links: the file that a path stands for, whether it exists or not.
///   errors  `why`: a link cannot be read, or there are too many of them
std::filesystem::path link_target(std::filesystem::path path, std::error_code& why);

/// The path of the regular file that a file of this name, replaced whole, takes the place of: links
/// are followed.
///   errors  `why`: file_fault, something else than a regular file is there; or the system's reason
std::filesystem::path replaceable(const std::filesystem::path& path, std::error_code& why);

}  // namespace sotto::detail

#ifndef SOTTO_SEPARATE_COMPILATION
#include "sotto/core/detail/files/file_kind.ipp"
#endif
