#pragma once

#include <chrono>
#include <concepts>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <system_error>
#include <vector>

#include "sotto/core/bytes.hpp"
#include "sotto/core/clock.hpp"

namespace sotto::detail::checkpoint {

/// File operations of checkpoints. Each clears `why`, or sets it to its failure; none throws for a
/// failure of the system. Tests replace this layer to simulate a crash or a full disk.
///   place(path) -> path              the regular file that a new file with this name would
///                                    replace, even if it does not exist; follows links. Fails for
///                                    a device, FIFO, socket or folder
///   create(path) -> int              an empty file for writing, new or truncated
///   create_new(path) -> int          same, but fails with errc::file_exists if the name exists
///   open(path) -> int                a regular file for reading; refuses anything else at once,
///                                    such as a FIFO, which would wait for its writer
///   write(file, bytes) -> int64      appends; returns the number of bytes written, which may be
///                                    fewer
///   read(file, offset, bytes) -> int64   returns the number of bytes read, which may be fewer; 0
///                                        is the end
///   size(file) -> int64
///   sync(file)                       returns when written data survives a loss of power
///   close(file)
///   rename(from, to)                 replaces `to` atomically
///   remove(path)
///   make_folder(path)                also makes missing parents
///   sync_folder(path)                as sync, for created, renamed and removed entries
///   list(path) -> vector<string>     names of a folder's entries, in any order
///   lock(path) -> int                locks a folder for this process until it unlocks it or ends;
///                                    fails at once with errc::resource_unavailable_try_again if
///                                    another process holds the lock
///   unlock(lock)
///   touch(path)                      sets the time of change to the present
///   changed(path) -> nanoseconds     time of change, by the clock of the disk
///   identity(folder) -> uint64       number of the folder on its disk (inode): a copy has another
///                                    one
///   disk_now(folder) -> nanoseconds  present by the clock of the disk, which all machines share
///   now() -> time_point              present by a clock of this machine that only moves forward
///   pause(duration)                  returns after this time
///   every(period, task) -> shared_ptr<void>  calls the task once a period, concurrently with the
///                                            caller, while the pointer lives
template <class F>
concept file_system = requires(F& files, const std::string& path, int file, byte_view out,
                               mutable_byte_view in, std::int64_t offset, std::error_code& why) {
    { files.place(path, why) } -> std::convertible_to<std::string>;
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

}  // namespace sotto::detail::checkpoint
