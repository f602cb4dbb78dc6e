#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <system_error>

#include "sotto/checkpoint/detail/disk.hpp"
#include "sotto/core/bytes.hpp"

namespace sotto::detail::checkpoint {

/// Event that a new file must survive.
///   crash   of the process
///   power   also a loss of power: the file is synced, which takes the disk's time
enum class survives : bool { crash, power };

/// Writes one file, in pieces. A crash, and with survives::power a loss of power, leaves the old or
/// the whole new file, never a partial one. After the first failure, further calls do nothing. If
/// the path is a link, its target is replaced and the link stays. A device, FIFO, socket or folder
/// is refused.
///   wire    the pieces are written to a file with the suffix `.unfinished` in the same folder,
///           which is synced and then renamed; then the folder is synced
///   errors  problem() names the file, the operation and the system's reason. The unfinished file
///           is then removed. If only the last sync failed, the new file exists, but may not
///           survive a loss of power
class whole_file {
public:
    /// Begins the file; its folder must exist.
    whole_file(const disk& files, const std::filesystem::path& path,
               survives what = survives::power);

    whole_file(const whole_file&) = delete;
    whole_file& operator=(const whole_file&) = delete;
    /// Removes the unfinished file if `finish` was not called or failed.
    ~whole_file() { give_up(); }

    /// Writes the next piece.
    void write(byte_view piece);

    /// Completes the file after the last piece; returns true on success.
    bool finish();

    /// True if nothing has failed so far.
    bool ok() const noexcept { return problem_.empty(); }
    /// Returns the first failure as a sentence, or an empty text.
    const std::string& problem() const noexcept { return problem_; }
    /// True if it failed because the disk, or this user's quota, is full.
    bool lacks_room() const noexcept;
    /// Returns the number of bytes written so far.
    std::int64_t bytes_written() const noexcept { return bytes_; }

private:
    void step(const char* what, const std::filesystem::path& which, auto&& act,
              std::error_code& why) {
        if (!ok()) return;
        act();
        if (why) fail(what, which, why);
    }

    void fail(const char* what, const std::filesystem::path& which, std::error_code why);

    /// Removes what is left of the attempt; ignores failures.
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
