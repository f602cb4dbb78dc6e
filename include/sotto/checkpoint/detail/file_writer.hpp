#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <system_error>
#include <vector>

#include "sotto/checkpoint/detail/digest.hpp"
#include "sotto/checkpoint/detail/digester.hpp"
#include "sotto/checkpoint/detail/disk.hpp"
#include "sotto/checkpoint/detail/generations.hpp"
#include "sotto/checkpoint/detail/whole_file.hpp"
#include "sotto/core/bytes.hpp"

namespace sotto::detail::checkpoint {

/// Writes one checkpoint into a folder, in pieces. A crash or a loss of power at any moment leaves
/// the old checkpoints unharmed, and the new one whole or absent. After the first failure, further
/// calls do nothing.
///   wire    the header, the pieces, then the digest of all of them and the digest of the header.
///           They are written to a file with the suffix `.unfinished`, which is synced and then
///           renamed; then the folder is synced. Then the writer removes checkpoints that are known
///           to be damaged, all others except the newest `keep`, and those of later steps: a run
///           that resumed from an earlier step writes them again. The folder stays locked, so that
///           no other process publishes or removes checkpoints in between
///   errors  problem() names the file, the operation and the system's reason. The writer then
///           removes the unfinished file, and the folder keeps its content. If only the last sync
///           failed, the new checkpoint exists too, but may not survive a loss of power
class file_writer {
public:
    /// Makes the folder if it is missing, locks it and begins the file of this step. `finish`
    /// leaves the newest `keep` checkpoints. Checkpoints in `refused` do not count: damaged and
    /// newer ones are removed, unreadable ones stay. `why_not`, if given, returns why nothing may
    /// be written into the locked folder. It is called before the file is begun and again before it
    /// appears.
    file_writer(const disk& files, std::filesystem::path folder, std::int64_t step,
                std::int64_t keep, std::vector<refused_file> refused = {},
                std::function<std::string()> why_not = {});

    file_writer(const file_writer&) = delete;
    file_writer& operator=(const file_writer&) = delete;
    /// Removes the unfinished file if `finish` was not called or failed.
    ~file_writer();

    /// Writes the first piece.
    void write_header(byte_view header);

    /// Writes the next piece.
    void write(byte_view piece);

    /// Completes the file after the last piece; returns true on success.
    bool finish();

    /// True if nothing has failed so far.
    bool ok() const noexcept { return problem().empty(); }
    /// Returns the first failure as a sentence, or an empty text.
    const std::string& problem() const noexcept { return file_ ? file_->problem() : problem_; }
    /// True if it failed because the disk, or this user's quota, is full.
    bool lacks_room() const noexcept { return file_ && file_->lacks_room(); }
    /// Returns the path of the complete file.
    const std::filesystem::path& path() const noexcept { return path_; }
    /// Returns the number of bytes written so far.
    std::int64_t bytes_written() const noexcept { return file_ ? file_->bytes_written() : 0; }

private:
    void fail(const char* what, std::error_code why);

    bool may_write();

    void unlock() noexcept;

    void remove_unfinished();

    /// Removes old checkpoints. It ignores failures: an extra checkpoint is harmless, and the next
    /// attempt removes it.
    void remove_old();

    disk files_;
    std::filesystem::path folder_, path_;
    std::int64_t step_, keep_;
    std::vector<refused_file> refused_;
    std::function<std::string()> why_not_;
    std::optional<whole_file> file_;  // set once this writer has locked the folder
    int lock_ = -1;
    bool locked_ = false;
    digester digest_;
    digest header_digest_{};
    std::string problem_;  // failure with the folder
};

}  // namespace sotto::detail::checkpoint

#ifndef SOTTO_SEPARATE_COMPILATION
#include "sotto/checkpoint/detail/file_writer.ipp"
#endif
