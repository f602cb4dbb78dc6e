#pragma once

#include "sotto/checkpoint/detail/disk.hpp"

#include "sotto/checkpoint/detail/posix_files.hpp"
#include "sotto/core/config.hpp"

namespace sotto::detail::checkpoint {

SOTTO_DECL disk::disk() : disk(posix_files{}) {}

SOTTO_DECL std::string disk::place(const std::string& path, std::error_code& why) const {
    return calls_->place(path, why);
}

SOTTO_DECL int disk::create(const std::string& path, std::error_code& why) const {
    return calls_->create(path, why);
}

SOTTO_DECL int disk::create_new(const std::string& path, std::error_code& why) const {
    return calls_->create_new(path, why);
}

SOTTO_DECL int disk::open(const std::string& path, std::error_code& why) const {
    return calls_->open(path, why);
}

SOTTO_DECL std::int64_t disk::write(int file, byte_view out, std::error_code& why) const {
    return calls_->write(file, out, why);
}

SOTTO_DECL std::int64_t disk::read(int file, std::int64_t offset, mutable_byte_view in,
                                   std::error_code& why) const {
    return calls_->read(file, offset, in, why);
}

SOTTO_DECL void disk::rename(const std::string& from, const std::string& to,
                             std::error_code& why) const {
    calls_->rename(from, to, why);
}

SOTTO_DECL void disk::remove(const std::string& path, std::error_code& why) const {
    calls_->remove(path, why);
}

SOTTO_DECL void disk::make_folder(const std::string& path, std::error_code& why) const {
    calls_->make_folder(path, why);
}

SOTTO_DECL void disk::sync_folder(const std::string& path, std::error_code& why) const {
    calls_->sync_folder(path, why);
}

SOTTO_DECL std::vector<std::string> disk::list(const std::string& path,
                                               std::error_code& why) const {
    return calls_->list(path, why);
}

SOTTO_DECL int disk::lock(const std::string& path, std::error_code& why) const {
    return calls_->lock(path, why);
}

SOTTO_DECL void disk::touch(const std::string& path, std::error_code& why) const {
    calls_->touch(path, why);
}

SOTTO_DECL std::chrono::nanoseconds disk::changed(const std::string& path,
                                                  std::error_code& why) const {
    return calls_->changed(path, why);
}

SOTTO_DECL std::chrono::nanoseconds disk::disk_now(const std::string& folder,
                                                   std::error_code& why) const {
    return calls_->disk_now(folder, why);
}

SOTTO_DECL std::uint64_t disk::identity(const std::string& folder, std::error_code& why) const {
    return calls_->identity(folder, why);
}

SOTTO_DECL std::shared_ptr<void> disk::every(duration period, std::function<void()> task) const {
    return calls_->every(period, std::move(task));
}

}  // namespace sotto::detail::checkpoint
