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

/// Writes one checkpoint into a folder, piece by piece, so that at any moment, also one at which
/// the process is killed or the power fails, the folder holds the old ones unharmed and the new one
/// whole or not at all. The first failure is kept, and all that follows does nothing.
///   wire    the header, the pieces, then the digest of them all and that of the header. They go to
///           a file named as unfinished, which is synced and then renamed; then the folder is
///           synced; then those generations that are known to be damaged are removed, and of the
///           others all but the newest `keep`, and those of later steps: a run that went back to an
///           earlier one writes them again. All this time the folder is locked, so that no other
///           process publishes or removes what this one has not finished
///   errors  problem() names the file, what was done with it and the system's reason. The
///           unfinished file is then removed, and what was in the folder is still there; where only
///           the last sync failed the new checkpoint is there too, but may not survive a loss of
///           power
class file_writer {
public:
    /// Locks the folder, which is made if it is not there, and begins the file of this step. `keep`
    /// of the newest checkpoints stay in the end. Of those in `refused`, which are known not to be
    /// usable, none counts: damaged ones and newer ones are removed, unreadable ones stay.
    /// `why_not`, if there is one, answers why nothing may be written into the folder, which is
    /// then locked: before the file is begun, and again before it appears.
    file_writer(const disk& files, std::filesystem::path folder, std::int64_t step,
                std::int64_t keep, std::vector<refused_file> refused = {},
                std::function<std::string()> why_not = {});

    file_writer(const file_writer&) = delete;
    file_writer& operator=(const file_writer&) = delete;
    /// Where `finish` was not called or failed, what was begun is removed.
    ~file_writer();

    /// The first piece.
    void write_header(byte_view header);

    /// The next piece.
    void write(byte_view piece);

    /// The last piece was written; whether all went well.
    bool finish();

    /// Whether nothing has failed so far.
    bool ok() const noexcept { return problem().empty(); }
    /// What failed first, in a sentence; empty if nothing did.
    const std::string& problem() const noexcept { return file_ ? file_->problem() : problem_; }
    /// Whether it failed because the disk, or this user's part of it, is full.
    bool lacks_room() const noexcept { return file_ && file_->lacks_room(); }
    /// What the file is called once it is whole.
    const std::filesystem::path& path() const noexcept { return path_; }
    /// Bytes that were written so far.
    std::int64_t bytes_written() const noexcept { return file_ ? file_->bytes_written() : 0; }

private:
    void fail(const char* what, std::error_code why);

    bool may_write();

    void unlock() noexcept;

    void remove_unfinished();

    /// A generation too many does no harm: the next attempt removes it.
    void remove_old();

    disk files_;
    std::filesystem::path folder_, path_;
    std::int64_t step_, keep_;
    std::vector<refused_file> refused_;
    std::function<std::string()> why_not_;
    std::optional<whole_file> file_;  // once the folder is this writer's
    int lock_ = -1;
    bool locked_ = false;
    digester digest_;
    digest header_digest_{};
    std::string problem_;  // with the folder
};

}  // namespace sotto::detail::checkpoint

#ifndef SOTTO_SEPARATE_COMPILATION
#include "sotto/checkpoint/detail/file_writer.ipp"
#endif
