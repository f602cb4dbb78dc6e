#pragma once

#include "sotto/checkpoint/detail/file_writer.hpp"

#include <algorithm>
#include <span>
#include <utility>

#include "sotto/core/config.hpp"

namespace sotto::detail::checkpoint {

SOTTO_DECL file_writer::file_writer(const disk& files, std::filesystem::path folder,
                                    std::int64_t step, std::int64_t keep,
                                    std::vector<refused_file> refused,
                                    std::function<std::string()> why_not)
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

SOTTO_DECL file_writer::~file_writer() {
    file_.reset();
    unlock();
}

SOTTO_DECL void file_writer::write_header(byte_view header) {
    header_digest_ = digest_of(header);
    write(header);
}

SOTTO_DECL void file_writer::write(byte_view piece) {
    digest_.update(piece);
    if (file_) file_->write(piece);
}

SOTTO_DECL bool file_writer::finish() {
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

SOTTO_DECL void file_writer::fail(const char* what, std::error_code why) {
    problem_ =
        std::string("cannot ") + what + " the folder of '" + path_.string() + "': " + why.message();
}

SOTTO_DECL bool file_writer::may_write() {
    const std::string why = why_not_ ? why_not_() : std::string();
    if (!why.empty()) problem_ = "cannot write '" + path_.string() + "': " + why;
    return why.empty();
}

SOTTO_DECL void file_writer::unlock() noexcept {
    if (std::exchange(locked_, false)) files_.unlock(lock_);
}

SOTTO_DECL void file_writer::remove_unfinished() {
    std::error_code ignored;
    for (const std::string& name : files_.list(folder_, ignored))
        if (is_unfinished(name)) files_.remove(folder_ / name, ignored);
}

SOTTO_DECL void file_writer::remove_old() {
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

}  // namespace sotto::detail::checkpoint
