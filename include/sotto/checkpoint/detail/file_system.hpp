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
