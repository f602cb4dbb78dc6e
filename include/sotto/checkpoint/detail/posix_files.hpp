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

/// The system's own files.
class posix_files {
public:
    std::filesystem::path place(const std::filesystem::path& path, std::error_code& why);
    /// Not blocking, and no link is followed: what another process left under this name is not
    /// waited for.
    int create(const std::filesystem::path& path, std::error_code& why) noexcept;
    int open(const std::filesystem::path& path, std::error_code& why) noexcept;
    std::int64_t write(int file, byte_view out, std::error_code& why) noexcept;
    std::int64_t read(int file, std::int64_t offset, mutable_byte_view in,
                      std::error_code& why) noexcept;
    std::int64_t size(int file, std::error_code& why) noexcept;
    void sync(int file, std::error_code& why) noexcept;
    /// Linux has closed the file also where it says EINTR.
    void close(int file, std::error_code& why) noexcept;
    void rename(const std::filesystem::path& from, const std::filesystem::path& to,
                std::error_code& why) noexcept;
    void remove(const std::filesystem::path& path, std::error_code& why) noexcept;

    /// A folder made here is in the folder above it after a loss of power, too.
    void make_folder(const std::filesystem::path& path, std::error_code& why);

    /// Some file systems (CIFS, FUSE, 9p) cannot sync a folder: there is nothing more to be done.
    void sync_folder(const std::filesystem::path& path, std::error_code& why) noexcept;

    /// Where a file system has no locks (some network ones), everybody gets one.
    int lock(const std::filesystem::path& path, std::error_code& why) noexcept;
    void unlock(int folder) noexcept;

    int create_new(const std::filesystem::path& path, std::error_code& why) noexcept;
    void touch(const std::filesystem::path& path, std::error_code& why) noexcept;
    /// The file is opened: NFS asks the server then, and believes what it remembers otherwise.
    std::chrono::nanoseconds changed(const std::filesystem::path& path,
                                     std::error_code& why) noexcept;
    /// That of a new file, which is removed at once.
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
