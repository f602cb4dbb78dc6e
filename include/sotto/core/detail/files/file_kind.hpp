#pragma once

#include <sys/stat.h>

#include <filesystem>
#include <string>
#include <system_error>
#include <type_traits>

namespace sotto::detail {

/// Faults of a file that the system does not report.
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

/// True if written data was lost, or is no longer under the file's name.
bool is_loss(const std::error_code& reason) noexcept;

/// True if the name belongs to something other than a regular file. A retry cannot change that.
bool is_no_regular_file(const std::error_code& reason) noexcept;

/// Returns why a file cannot be replaced, for messages. The text adds that a new name is also
/// possible.
std::string why_not_replaced(const std::error_code& reason);

/// True if two paths or descriptors refer to the same file.
bool is_same_file(const struct ::stat& a, const struct ::stat& b) noexcept;

/// True if the file is stdin, stdout or stderr of this process, such as /dev/stdout.
bool is_standard_stream(const struct ::stat& file) noexcept;

/// Returns why this is not a regular file; empty if it is one.
std::error_code why_not_regular(const struct ::stat& file) noexcept;

/// True if a path, after links, names a device.
bool is_device(const std::filesystem::path& path) noexcept;

/// Follows links. Returns the path that they lead to, even if no file is there.
///   errors  `why`: a link cannot be read, or there are too many of them
std::filesystem::path link_target(std::filesystem::path path, std::error_code& why);

/// Follows links. Returns the path of the regular file that a new file with this name would
/// replace.
///   errors  `why`: file_fault if something other than a regular file is there; or the system's
///           reason
std::filesystem::path replaceable(const std::filesystem::path& path, std::error_code& why);

}  // namespace sotto::detail

#ifndef SOTTO_SEPARATE_COMPILATION
#include "sotto/core/detail/files/file_kind.ipp"
#endif
