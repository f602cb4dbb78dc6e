#include "checks.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <charconv>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <system_error>
#include <vector>

namespace examples {

namespace {

std::string shown(double value) {
    std::array<char, 32> text;
    const auto [end, why] =
        std::to_chars(text.data(), text.data() + text.size(), value, std::chars_format::general, 6);
    return std::string(text.data(), why == std::errc() ? end : text.data());
}

std::function<std::string(const std::string&)> number(double low, double high, bool low_too) {
    return [=](const std::string& given) -> std::string {
        double value = 0.0;
        const char* const all = given.data() + given.size();
        const auto [end, why] = std::from_chars(given.data(), all, value);
        const bool whole = why == std::errc() && end == all;
        if (whole && (low_too ? value >= low : value > low) && value <= high) return "";
        return "is '" + given + "'; a number " +
               (low_too ? "from " + shown(low) + " to " : "above " + shown(low) + ", up to ") +
               shown(high) + " was expected";
    };
}

/// Returns the file's absolute path, with links resolved in the part that exists.
std::filesystem::path plain(const std::string& file) {
    std::error_code ignored;
    const auto found =
        std::filesystem::weakly_canonical(std::filesystem::absolute(file, ignored), ignored);
    return ignored ? std::filesystem::path(file) : found;
}

bool is_same(const std::string& a, const std::string& b) {
    std::error_code ignored;
    return std::filesystem::equivalent(a, b, ignored) || plain(a) == plain(b);
}

std::string reason_of(int error) {
    return std::generic_category().message(error);
}

/// Returns why the system does not open the file; empty if it does.
std::string why_not_opened(const std::string& file, int flags) {
    int opened = -1;
    do opened = ::open(file.c_str(), flags | O_NONBLOCK | O_NOCTTY | O_CLOEXEC, 0666);
    while (opened < 0 && errno == EINTR);
    if (opened < 0) return reason_of(errno);
    ::close(opened);
    return "";
}

bool is_device(const std::string& file) {
    struct ::stat there {};
    return ::stat(file.c_str(), &there) == 0 && (S_ISCHR(there.st_mode) || S_ISBLK(there.st_mode));
}

/// Returns why no other file can replace it; empty if one can.
std::string why_not_replaced(const std::filesystem::path& file) {
    struct ::stat there {};
    if (::stat(file.c_str(), &there) != 0) return errno == ELOOP ? reason_of(errno) : "";
    std::string what;
    if (S_ISDIR(there.st_mode))
        what = "a folder";
    else if (S_ISFIFO(there.st_mode))
        what = "a FIFO";
    else if (S_ISSOCK(there.st_mode))
        what = "a socket";
    else if (!S_ISREG(there.st_mode))
        what = "a device";
    for (const int stream : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO})
        if (struct ::stat one{}; what.empty() && ::fstat(stream, &one) == 0 &&
                                 one.st_dev == there.st_dev && one.st_ino == there.st_ino)
            what = "stdin, stdout or stderr of this process";
    return what.empty() ? "" : "it is " + what + "; expected a regular file or a new name";
}

/// Returns why the file cannot be written; empty if it can. `whole`: the file is replaced at once.
std::string why_not_writable(const std::filesystem::path& file, bool whole = false) {
    std::error_code problem;
    if (std::filesystem::is_directory(file, problem)) return "it is a folder";
    if (whole)
        if (std::string why = why_not_replaced(file); !why.empty()) return why;
    // A FIFO is not opened: closing this probe would end its reader.
    if (std::filesystem::is_fifo(file, problem)) return "";
    if (!file.parent_path().empty())
        std::filesystem::create_directories(file.parent_path(), problem);
    // A missing file is probed under another name: another rank may be creating the file.
    const bool is_there = std::filesystem::exists(file, problem);
    const std::string tried =
        is_there ? file.string() : file.string() + ".try" + std::to_string(::getpid());
    std::string why = why_not_opened(tried, O_WRONLY | O_CREAT | O_APPEND);
    if (!is_there) std::filesystem::remove(tried, problem);
    return why;
}

}  // namespace

void refuse(const std::string& flag, const std::string& given, const std::string& expected) {
    throw CLI::ValidationError(flag, "is '" + given + "'; " + expected);
}

std::string at_least_one(const std::string& number) {
    return std::atoll(number.c_str()) >= 1 ? "" : "is " + number + "; it must be at least 1";
}

std::string whole_number(const std::string& given) {
    std::uint64_t value = 0;
    const auto [end, why] = std::from_chars(given.data(), given.data() + given.size(), value);
    if (why == std::errc() && end == given.data() + given.size()) return "";
    return "is '" + given + "'; a whole number from 0 to 18446744073709551615 was expected";
}

std::function<std::string(const std::string&)> number_from(double low, double high) {
    return number(low, high, true);
}
std::function<std::string(const std::string&)> number_above(double low, double high) {
    return number(low, high, false);
}

void require_effect(const CLI::App& app, const std::string& flag, bool has_effect,
                    const std::string& with) {
    const CLI::Option* const option = app.get_option(flag);
    if (has_effect || option->count() == 0) return;
    if (option->get_expected_max() == 0)  // a flag without a value
        throw CLI::ValidationError(flag, "it has no effect here: it goes with " + with);
    const std::string given = option->results().empty() ? "" : option->results().back();
    refuse(flag, given, "it has no effect here: it goes with " + with);
}

void require_writable(named_files files) {
    std::vector<std::pair<std::string, std::string>> before;
    for (const auto& [flag, file, whole] : files) {
        if (file.empty()) continue;
        for (const auto& [other_flag, other] : before)
            if (is_same(file, other) && !is_device(file))
                refuse(flag, file,
                       "a file of its own was expected, and " + other_flag + " writes that one");
        if (const std::string why = why_not_writable(file, whole); !why.empty())
            refuse(flag, file, "a file that can be written was expected: " + why);
        before.emplace_back(flag, file);
    }
}

void require_readable(const std::string& flag, const std::string& file) {
    if (file.empty()) return;
    std::error_code ignored;
    if (std::filesystem::is_directory(file, ignored))
        refuse(flag, file, "a file that can be read was expected: it is a folder");
    if (std::filesystem::exists(file, ignored) && !std::filesystem::is_regular_file(file, ignored))
        refuse(flag, file, "a file that can be read was expected: it is not a regular file");
    if (const std::string why = why_not_opened(file, O_RDONLY); !why.empty())
        refuse(flag, file, "a file that can be read was expected: " + why);
}

void require_folder(const std::string& flag, const std::string& folder) {
    if (folder.empty()) return;
    std::error_code problem;
    std::filesystem::create_directories(folder, problem);
    if (problem) refuse(flag, folder, "a folder was expected: " + problem.message());
    const std::string probe = (std::filesystem::path(folder) / ".writable").string();
    if (const std::string why = why_not_writable(probe); !why.empty())
        refuse(flag, folder, "a folder in which files can be written was expected: " + why);
}

}  // namespace examples
