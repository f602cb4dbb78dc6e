#pragma once

#include <string>
#include <system_error>
#include <utility>

#include "sotto/checkpoint/detail/disk.hpp"

namespace sotto::detail::checkpoint {

/// Locks a folder for this process until destruction, or until the process ends for any reason. See
/// `lock` of file_system.
///   errors  `why`, as `lock` reports; the folder is then not locked
class folder_lock {
public:
    /// Does not wait; see `lock` of file_system.
    folder_lock(disk files, const std::string& folder, std::error_code& why)
        : files_(std::move(files)), lock_(files_.lock(folder, why)), held_(!why) {}

    /// Takes the lock over; `other` then holds none.
    folder_lock(folder_lock&& other) noexcept;
    folder_lock& operator=(folder_lock&&) = delete;
    /// Unlocks the folder, if it is locked.
    ~folder_lock();

private:
    disk files_;
    int lock_;
    bool held_;
};

}  // namespace sotto::detail::checkpoint

#ifndef SOTTO_SEPARATE_COMPILATION
#include "sotto/checkpoint/detail/folder_lock.ipp"
#endif
