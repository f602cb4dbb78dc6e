#pragma once

#include "sotto/core/detail/files/file_kind.hpp"

#include <unistd.h>

#include "sotto/core/config.hpp"

namespace sotto::detail {

SOTTO_DECL std::string file_fault_category::message(int code) const {
    constexpr const char* regular = "; expected a regular file";
    switch (static_cast<file_fault>(code)) {
        case file_fault::is_folder: return std::string("it is a folder") + regular;
        case file_fault::is_device: return std::string("it is a device") + regular;
        case file_fault::is_fifo: return std::string("it is a FIFO") + regular;
        case file_fault::is_socket: return std::string("it is a socket") + regular;
        case file_fault::is_standard_stream:
            return std::string("it is stdin, stdout or stderr of this process") + regular;
        case file_fault::dangling_link:
            return "it is a symbolic link to a path that does not exist";
        case file_fault::removed: return "it was removed while it was being written";
        case file_fault::renamed: return "it was renamed or replaced while it was being written";
        case file_fault::shortened: return "it was shortened while it was being written";
        case file_fault::shortened_while_read: return "it became shorter while it was read";
        case file_fault::no_reader: return "it is a FIFO that no process reads";
        case file_fault::slow_reader: return "the process that reads it takes nothing";
    }
    return "unknown fault of a file";
}

SOTTO_DECL std::error_code make_error_code(file_fault fault) noexcept {
    static const file_fault_category instance;
    return {static_cast<int>(fault), instance};
}

SOTTO_DECL bool is_loss(const std::error_code& reason) noexcept {
    return reason == file_fault::removed || reason == file_fault::renamed ||
           reason == file_fault::shortened;
}

SOTTO_DECL bool is_no_regular_file(const std::error_code& reason) noexcept {
    return reason == file_fault::is_folder || reason == file_fault::is_device ||
           reason == file_fault::is_fifo || reason == file_fault::is_socket ||
           reason == file_fault::is_standard_stream || reason == file_fault::dangling_link;
}

SOTTO_DECL std::string why_not_replaced(const std::error_code& reason) {
    std::string text = reason.message();
    if (text.ends_with("; expected a regular file")) text += " or a new name";
    return text;
}

SOTTO_DECL bool is_same_file(const struct ::stat& a, const struct ::stat& b) noexcept {
    return a.st_dev == b.st_dev && a.st_ino == b.st_ino;
}

SOTTO_DECL bool is_standard_stream(const struct ::stat& file) noexcept {
    for (const int stream : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO})
        if (struct ::stat one{}; ::fstat(stream, &one) == 0 && is_same_file(file, one)) return true;
    return false;
}

SOTTO_DECL std::error_code why_not_regular(const struct ::stat& file) noexcept {
    if (S_ISREG(file.st_mode)) return {};
    if (S_ISDIR(file.st_mode)) return file_fault::is_folder;
    if (S_ISFIFO(file.st_mode)) return file_fault::is_fifo;
    if (S_ISSOCK(file.st_mode)) return file_fault::is_socket;
    return file_fault::is_device;
}

SOTTO_DECL bool is_device(const std::filesystem::path& path) noexcept {
    struct ::stat file {};
    return ::stat(path.c_str(), &file) == 0 && (S_ISCHR(file.st_mode) || S_ISBLK(file.st_mode));
}

SOTTO_DECL std::filesystem::path link_target(std::filesystem::path path, std::error_code& why) {
    constexpr int links_max = 40;  // same limit as Linux
    for (int links = 0; links <= links_max; ++links) {
        std::error_code is_none;
        if (!std::filesystem::is_symlink(std::filesystem::symlink_status(path, is_none))) {
            why.clear();
            return path;
        }
        const std::filesystem::path target = std::filesystem::read_symlink(path, why);
        if (why) return path;
        path = path.parent_path() / target;  // an absolute target replaces it
    }
    why = std::make_error_code(std::errc::too_many_symbolic_link_levels);
    return path;
}

SOTTO_DECL std::filesystem::path replaceable(const std::filesystem::path& path,
                                             std::error_code& why) {
    std::filesystem::path place = link_target(path, why);
    struct ::stat file {};
    if (why || ::stat(place.c_str(), &file) != 0) return place;  // creation reports the reason
    why = why_not_regular(file);
    if (!why && is_standard_stream(file)) why = file_fault::is_standard_stream;
    return place;
}

}  // namespace sotto::detail
