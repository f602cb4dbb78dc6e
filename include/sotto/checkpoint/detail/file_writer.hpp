#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include "sotto/checkpoint/detail/digest.hpp"
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
    file_writer(const disk& files, std::filesystem::path folder, std::int64_t step, std::int64_t keep,
                std::vector<refused_file> refused = {}, std::function<std::string()> why_not = {})
        : files_(files),
          folder_(std::move(folder)),
          path_(folder_ / file_name(step)),
          step_(step),
          keep_(keep),
          refused_(std::move(refused)),
          why_not_(std::move(why_not)) {
        std::error_code why;
        files_.make_folder(folder_, why);
        if (why) {
            fail("make", why);
            return;
        }
        lock_ = files_.lock(folder_, why);
        if (why == std::errc::resource_unavailable_try_again)
            problem_ = "cannot write '" + path_.string() +
                       "': another process is writing a checkpoint into this folder";
        else if (why)
            fail("lock", why);
        if (why) return;
        locked_ = true;
        if (!may_write()) return;
        remove_unfinished();
        file_.emplace(files_, path_);
    }

    file_writer(const file_writer&) = delete;
    file_writer& operator=(const file_writer&) = delete;
    /// Where `finish` was not called or failed, what was begun is removed.
    ~file_writer() {
        file_.reset();
        unlock();
    }

    /// The first piece.
    void write_header(byte_view header) {
        header_digest_ = digest_of(header);
        write(header);
    }

    /// The next piece.
    void write(byte_view piece) {
        digest_.update(piece);
        if (file_) file_->write(piece);
    }

    /// The last piece was written; whether all went well.
    bool finish() {
        const closing_digests closing{digest_.value(), header_digest_};
        if (file_) {
            file_->write(std::as_bytes(std::span(&closing, 1)));
            if (!file_->ok() || may_write()) {
                if (file_->finish()) remove_old();
            } else {
                file_.reset();
            }
        }
        unlock();
        return ok();
    }

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
    void fail(const char* what, std::error_code why) {
        problem_ = std::string("cannot ") + what + " the folder of '" + path_.string() +
                   "': " + why.message();
    }

    bool may_write() {
        const std::string why = why_not_ ? why_not_() : std::string();
        if (!why.empty()) problem_ = "cannot write '" + path_.string() + "': " + why;
        return why.empty();
    }

    void unlock() noexcept {
        if (std::exchange(locked_, false)) files_.unlock(lock_);
    }

    void remove_unfinished() {
        std::error_code ignored;
        for (const std::string& name : files_.list(folder_, ignored))
            if (is_unfinished(name)) files_.remove(folder_ / name, ignored);
    }

    /// A generation too many does no harm: the next attempt removes it.
    void remove_old() {
        std::error_code ignored;
        std::int64_t kept = 0;
        for (const std::int64_t step : generations(files_, folder_, ignored)) {
            const auto why = std::ranges::find(refused_, step, &refused_file::step);
            const bool is_refused = step != step_ && why != refused_.end();
            if (is_refused && why->kind == refusal::unreadable) continue;
            if (is_refused || step > step_ || ++kept > keep_)
                files_.remove(folder_ / file_name(step), ignored);
        }
    }

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
