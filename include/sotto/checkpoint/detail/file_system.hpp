#pragma once

#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <concepts>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <system_error>
#include <thread>
#include <vector>

#include "sotto/core/bytes.hpp"
#include "sotto/core/clock.hpp"
#include "sotto/core/detail/files/descriptor.hpp"
#include "sotto/core/detail/files/file_kind.hpp"
#include "sotto/core/errors.hpp"

namespace sotto::detail::checkpoint {

/// The calls by which checkpoints reach a disk. Each puts into `why` how it failed, or clears it;
/// none throws for a failure of the system. Whoever wants to see what a crash or a full disk would
/// leave brings a layer of their own.
///   place(path) -> path              the regular file that a file of this name takes the place
///                                    of, whether it exists or not: links are followed. A device,
///                                    FIFO, socket or folder of that name is a failure
///   create(path) -> int              a file for writing, empty whether it was there or not
///   create_new(path) -> int          the same, but errc::file_exists if there is one of this name
///   open(path) -> int                a regular file for reading; anything else is refused at once,
///                                    as a FIFO, whose writer would be waited for
///   write(file, bytes) -> int64      appends; how many bytes were taken: fewer are no failure
///   read(file, offset, bytes) -> int64   how many were got: fewer are no failure, 0 is the end
///   size(file) -> int64
///   sync(file)                       returns when what was written survives a loss of power
///   close(file)
///   rename(from, to)                 takes the place of `to`, at once or not at all
///   remove(path)
///   make_folder(path)                with those above it, where they are missing
///   sync_folder(path)                as sync, for what was created, renamed and removed in it
///   list(path) -> vector<string>     the names of what is in a folder, in any order
///   lock(path) -> int                a folder, for this process alone until it unlocks it or ends;
///                                    errc::resource_unavailable_try_again, at once, if it is
///                                    another's
///   unlock(lock)
///   touch(path)                      makes the present the time at which the file was changed
///   changed(path) -> nanoseconds     that time, by the clock of the disk
///   identity(folder) -> uint64       its number on its disk (inode): a copy has another one
///   disk_now(folder) -> nanoseconds  the present by that clock, which other machines share
///   now() -> time_point              the present by a clock of this machine that only moves
///                                    forward
///   pause(duration)                  returns after so long
///   every(period, task) -> shared_ptr<void>  calls the task once a period, beside what the caller
///                                    does, while the pointer lives
template <class F>
concept file_system = requires(F& files, const std::filesystem::path& path, int file, byte_view out,
                               mutable_byte_view in, std::int64_t offset, std::error_code& why) {
    { files.place(path, why) } -> std::same_as<std::filesystem::path>;
    { files.create(path, why) } -> std::same_as<int>;
    { files.open(path, why) } -> std::same_as<int>;
    { files.write(file, out, why) } -> std::same_as<std::int64_t>;
    { files.read(file, offset, in, why) } -> std::same_as<std::int64_t>;
    { files.size(file, why) } -> std::same_as<std::int64_t>;
    files.sync(file, why);
    files.close(file, why);
    files.rename(path, path, why);
    files.remove(path, why);
    files.make_folder(path, why);
    files.sync_folder(path, why);
    { files.list(path, why) } -> std::same_as<std::vector<std::string>>;
    { files.lock(path, why) } -> std::same_as<int>;
    files.unlock(file);
    { files.create_new(path, why) } -> std::same_as<int>;
    files.touch(path, why);
    { files.changed(path, why) } -> std::same_as<std::chrono::nanoseconds>;
    { files.disk_now(path, why) } -> std::same_as<std::chrono::nanoseconds>;
    { files.identity(path, why) } -> std::same_as<std::uint64_t>;
    { files.now() } -> std::same_as<time_point>;
    files.pause(duration());
    { files.every(duration(), std::function<void()>()) } -> std::same_as<std::shared_ptr<void>>;
};

/// The system's own files.
class posix_files {
    static auto again(auto&& call) noexcept { return sotto::detail::uninterrupted(call); }

    template <class Result>
    static Result checked(Result result, std::error_code& why) noexcept {
        if (result < 0)
            why.assign(errno, std::generic_category());
        else
            why.clear();
        return result;
    }

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
    void unlock(int folder) noexcept { ::close(folder); }

    int create_new(const std::filesystem::path& path, std::error_code& why) noexcept;
    void touch(const std::filesystem::path& path, std::error_code& why) noexcept;
    /// The file is opened: NFS asks the server then, and believes what it remembers otherwise.
    std::chrono::nanoseconds changed(const std::filesystem::path& path,
                                     std::error_code& why) noexcept;
    /// That of a new file, which is removed at once.
    std::chrono::nanoseconds disk_now(const std::filesystem::path& folder, std::error_code& why);
    std::uint64_t identity(const std::filesystem::path& folder, std::error_code& why) noexcept;
    time_point now() const noexcept { return std::chrono::steady_clock::now(); }
    void pause(duration length) const { std::this_thread::sleep_for(length); }
    std::shared_ptr<void> every(duration period, std::function<void()> task) const;

    std::vector<std::string> list(const std::filesystem::path& path, std::error_code& why);

private:
    static std::chrono::nanoseconds changed_at(const sotto::detail::descriptor& file,
                                               std::error_code& why) noexcept;
    static int open_folder(const std::filesystem::path& path, std::error_code& why) noexcept;
};
static_assert(file_system<posix_files>);

}  // namespace sotto::detail::checkpoint

#ifndef SOTTO_SEPARATE_COMPILATION
#include "sotto/checkpoint/detail/file_system.ipp"
#endif
