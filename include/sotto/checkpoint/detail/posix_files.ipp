#pragma once

#include "sotto/checkpoint/detail/posix_files.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <random>
#include <thread>
#include <utility>

#include "sotto/core/config.hpp"
#include "sotto/core/detail/files/descriptor.hpp"
#include "sotto/core/detail/files/file_kind.hpp"
#include "sotto/core/detail/files/input_file.hpp"
#include "sotto/core/detail/processes/periodic_task.hpp"

namespace sotto::detail::checkpoint {

/// Returns the result of a system call and sets `why` to its failure, or clears it.
template <class Result>
Result checked(Result result, std::error_code& why) noexcept {
    if (result < 0)
        why.assign(errno, std::generic_category());
    else
        why.clear();
    return result;
}

SOTTO_DECL std::chrono::nanoseconds changed_at(const sotto::detail::descriptor& file,
                                               std::error_code& why) noexcept {
    struct ::stat facts {};
    if (!why) checked(::fstat(file.handle(), &facts), why);
    return std::chrono::seconds(facts.st_mtim.tv_sec) +
           std::chrono::nanoseconds(facts.st_mtim.tv_nsec);
}

SOTTO_DECL std::filesystem::path posix_files::place(const std::filesystem::path& path,
                                                    std::error_code& why) {
    return sotto::detail::replaceable(path, why);
}

SOTTO_DECL int posix_files::create(const std::filesystem::path& path,
                                   std::error_code& why) noexcept {
    sotto::detail::descriptor file = sotto::detail::open_file(
        path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_NONBLOCK | O_NOFOLLOW);
    struct ::stat facts {};
    checked(file ? ::fstat(file.handle(), &facts) : -1, why);
    if (!why) why = sotto::detail::why_not_regular(facts);
    return why ? -1 : file.release();
}

SOTTO_DECL int posix_files::open(const std::filesystem::path& path, std::error_code& why) noexcept {
    return sotto::detail::open_regular(path.c_str(), why).release();
}

SOTTO_DECL std::int64_t posix_files::write(int file, byte_view out, std::error_code& why) noexcept {
    return checked(
        sotto::detail::uninterrupted([&] { return ::write(file, out.data(), out.size()); }), why);
}

SOTTO_DECL std::int64_t posix_files::read(int file, std::int64_t offset, mutable_byte_view in,
                                          std::error_code& why) noexcept {
    return checked(
        sotto::detail::uninterrupted([&] { return ::pread(file, in.data(), in.size(), offset); }),
        why);
}

SOTTO_DECL std::int64_t posix_files::size(int file, std::error_code& why) noexcept {
    struct ::stat facts {};
    checked(::fstat(file, &facts), why);
    return why ? 0 : std::int64_t{facts.st_size};
}

SOTTO_DECL void posix_files::sync(int file, std::error_code& why) noexcept {
    checked(sotto::detail::uninterrupted([&] { return ::fsync(file); }), why);
}

SOTTO_DECL void posix_files::close(int file, std::error_code& why) noexcept {
    const int result = ::close(file);
    checked(result != 0 && errno == EINTR ? 0 : result, why);
}

SOTTO_DECL void posix_files::rename(const std::filesystem::path& from,
                                    const std::filesystem::path& to,
                                    std::error_code& why) noexcept {
    std::filesystem::rename(from, to, why);
}

SOTTO_DECL void posix_files::remove(const std::filesystem::path& path,
                                    std::error_code& why) noexcept {
    std::filesystem::remove(path, why);
}

SOTTO_DECL void posix_files::make_folder(const std::filesystem::path& path, std::error_code& why) {
    if (path.empty()) return why.clear();
    const struct ::stat there = sotto::detail::facts_of_path(path.c_str(), why);
    if (!why && S_ISDIR(there.st_mode)) return;
    if (!why) why = std::make_error_code(std::errc::not_a_directory);
    if (why != std::errc::no_such_file_or_directory) return;
    const std::filesystem::path above = path.parent_path();
    if (above != path) make_folder(above, why);
    if (why) return;
    if (path.filename().empty()) return;  // "folder/" was made as "folder"
    std::filesystem::create_directory(path, why);
    if (!why) sync_folder(above.empty() ? "." : above, why);
}

SOTTO_DECL void posix_files::sync_folder(const std::filesystem::path& path,
                                         std::error_code& why) noexcept {
    const int folder = open_folder(path, why);
    if (why) return;
    sync(folder, why);
    if (why == std::errc::invalid_argument || why == std::errc::not_supported) why.clear();
    ::close(folder);
}

SOTTO_DECL int posix_files::lock(const std::filesystem::path& path, std::error_code& why) noexcept {
    const int folder = open_folder(path, why);
    if (why) return -1;
    checked(sotto::detail::uninterrupted([&] { return ::flock(folder, LOCK_EX | LOCK_NB); }), why);
    if (why == std::errc::operation_would_block) {
        ::close(folder);
        return -1;
    }
    why.clear();
    return folder;
}

SOTTO_DECL int posix_files::create_new(const std::filesystem::path& path,
                                       std::error_code& why) noexcept {
    return checked(sotto::detail::open_file(path.c_str(), O_WRONLY | O_CREAT | O_EXCL).release(),
                   why);
}

SOTTO_DECL void posix_files::touch(const std::filesystem::path& path,
                                   std::error_code& why) noexcept {
    checked(::utimensat(AT_FDCWD, path.c_str(), nullptr, 0), why);
}

SOTTO_DECL std::chrono::nanoseconds posix_files::changed(const std::filesystem::path& path,
                                                         std::error_code& why) noexcept {
    return changed_at(sotto::detail::open_regular(path.c_str(), why), why);
}

SOTTO_DECL std::chrono::nanoseconds posix_files::disk_now(const std::filesystem::path& folder,
                                                          std::error_code& why) {
    static std::atomic<std::uint64_t> count = 0;
    const std::filesystem::path probe =
        folder / (".time-" + std::to_string(::getpid()) + "-" +
                  std::to_string(std::random_device()()) + "-" + std::to_string(++count));
    sotto::detail::descriptor file =
        sotto::detail::open_file(probe.c_str(), O_WRONLY | O_CREAT | O_EXCL);
    checked(file.handle(), why);
    const auto present = changed_at(std::move(file), why);
    std::error_code ignored;
    if (!why) std::filesystem::remove(probe, ignored);
    return present;
}

SOTTO_DECL std::uint64_t posix_files::identity(const std::filesystem::path& folder,
                                               std::error_code& why) noexcept {
    return sotto::detail::facts_of_path(folder.c_str(), why).st_ino;
}

SOTTO_DECL std::shared_ptr<void> posix_files::every(duration period,
                                                    std::function<void()> task) const {
    return std::make_shared<sotto::detail::periodic_task>(
        "checkpoints: a thread that shows that this process lives", period, std::move(task));
}

SOTTO_DECL std::vector<std::string> posix_files::list(const std::filesystem::path& path,
                                                      std::error_code& why) {
    std::vector<std::string> names;
    auto entry = std::filesystem::directory_iterator(path, why);
    while (!why && entry != std::filesystem::directory_iterator()) {
        names.push_back(entry->path().filename().string());
        entry.increment(why);
    }
    return names;
}

SOTTO_DECL int posix_files::open_folder(const std::filesystem::path& path,
                                        std::error_code& why) noexcept {
    return checked(sotto::detail::open_file(path.c_str(), O_RDONLY | O_DIRECTORY).release(), why);
}

SOTTO_DECL void posix_files::unlock(int folder) noexcept {
    ::close(folder);
}

SOTTO_DECL time_point posix_files::now() const noexcept {
    return std::chrono::steady_clock::now();
}

SOTTO_DECL void posix_files::pause(duration length) const {
    std::this_thread::sleep_for(length);
}

}  // namespace sotto::detail::checkpoint
