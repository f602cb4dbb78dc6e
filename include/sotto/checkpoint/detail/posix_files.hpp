#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <system_error>
#include <vector>

#include "sotto/checkpoint/detail/file_system.hpp"
#include "sotto/core/bytes.hpp"
#include "sotto/core/clock.hpp"

namespace sotto::detail::checkpoint {

/// Files of the operating system.
class posix_files {
public:
    std::filesystem::path place(const std::filesystem::path& path, std::error_code& why);
    /// Does not block and follows no link, so it never waits for a file that another process left
    /// under this name.
    int create(const std::filesystem::path& path, std::error_code& why) noexcept;
    int open(const std::filesystem::path& path, std::error_code& why) noexcept;
    std::int64_t write(int file, byte_view out, std::error_code& why) noexcept;
    std::int64_t read(int file, std::int64_t offset, mutable_byte_view in,
                      std::error_code& why) noexcept;
    std::int64_t size(int file, std::error_code& why) noexcept;
    void sync(int file, std::error_code& why) noexcept;
    /// Ignores EINTR: Linux has closed the file.
    void close(int file, std::error_code& why) noexcept;
    void rename(const std::filesystem::path& from, const std::filesystem::path& to,
                std::error_code& why) noexcept;
    void remove(const std::filesystem::path& path, std::error_code& why) noexcept;

    /// Syncs the parent of a new folder, so that the folder survives a loss of power.
    void make_folder(const std::filesystem::path& path, std::error_code& why);

    /// Succeeds on file systems that cannot sync a folder (CIFS, FUSE, 9p).
    void sync_folder(const std::filesystem::path& path, std::error_code& why) noexcept;

    /// Succeeds for every process on file systems without locks (some network ones).
    int lock(const std::filesystem::path& path, std::error_code& why) noexcept;
    void unlock(int folder) noexcept;

    int create_new(const std::filesystem::path& path, std::error_code& why) noexcept;
    void touch(const std::filesystem::path& path, std::error_code& why) noexcept;
    /// Opens the file, because NFS then asks the server instead of its cache.
    std::chrono::nanoseconds changed(const std::filesystem::path& path,
                                     std::error_code& why) noexcept;
    /// Returns the time of a new file, which it removes at once.
    std::chrono::nanoseconds disk_now(const std::filesystem::path& folder, std::error_code& why);
    std::uint64_t identity(const std::filesystem::path& folder, std::error_code& why) noexcept;
    time_point now() const noexcept;
    void pause(duration length) const;
    std::shared_ptr<void> every(duration period, std::function<void()> task) const;

    std::vector<std::string> list(const std::filesystem::path& path, std::error_code& why);

private:
    static int open_folder(const std::filesystem::path& path, std::error_code& why) noexcept;
};
static_assert(file_system<posix_files>);

}  // namespace sotto::detail::checkpoint

#ifndef SOTTO_SEPARATE_COMPILATION
#include "sotto/checkpoint/detail/posix_files.ipp"
#endif
