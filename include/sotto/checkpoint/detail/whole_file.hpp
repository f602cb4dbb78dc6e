#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <system_error>

#include "sotto/checkpoint/detail/disk.hpp"
#include "sotto/core/bytes.hpp"

namespace sotto::detail::checkpoint {

/// What a new file has to survive.
///   crash   of the process
///   power   also a loss of power: it is synced, which takes the disk's time
enum class survives : bool { crash, power };

/// Writes one file, piece by piece, so that at any moment, also one at which the process is killed
/// or the power fails, its path has what was there before or the new file whole. The first failure
/// is kept, and all that follows does nothing. Where the path is a link, the file that it stands
/// for is replaced and the link stays; a device, FIFO, socket or folder is refused.
///   wire    the pieces go to a file beside it named as unfinished, which is synced and then
///           renamed; then the folder is synced
///   errors  problem() names the file, what was done with it and the system's reason. The
///           unfinished file is then removed; where only the last sync failed the new file is
///           there, but may not survive a loss of power
class whole_file {
public:
    /// Begins it, in a folder that is there.
    whole_file(const disk& files, const std::filesystem::path& path,
               survives what = survives::power);

    whole_file(const whole_file&) = delete;
    whole_file& operator=(const whole_file&) = delete;
    /// Where `finish` was not called or failed, what was begun is removed.
    ~whole_file() { give_up(); }

    /// The next piece.
    void write(byte_view piece);

    /// The last piece was written; whether all went well.
    bool finish();

    /// Whether nothing has failed so far.
    bool ok() const noexcept { return problem_.empty(); }
    /// What failed first, in a sentence; empty if nothing did.
    const std::string& problem() const noexcept { return problem_; }
    /// Whether it failed because the disk, or this user's part of it, is full.
    bool lacks_room() const noexcept;
    /// Bytes that were written so far.
    std::int64_t bytes_written() const noexcept { return bytes_; }

private:
    void step(const char* what, const std::filesystem::path& which, auto&& act,
              std::error_code& why) {
        if (!ok()) return;
        act();
        if (why) fail(what, which, why);
    }

    void fail(const char* what, const std::filesystem::path& which, std::error_code why);

    /// What is left of the attempt goes; a failure of that changes nothing.
    void give_up() noexcept;

    disk files_;
    std::filesystem::path path_, unfinished_;
    bool syncs_;
    int file_ = -1;
    bool open_ = false, created_ = false;
    std::int64_t bytes_ = 0;
    std::string problem_;
    std::error_code why_;
};

}  // namespace sotto::detail::checkpoint

#ifndef SOTTO_SEPARATE_COMPILATION
#include "sotto/checkpoint/detail/whole_file.ipp"
#endif
