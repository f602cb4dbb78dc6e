#pragma once

#include <string>
#include <system_error>
#include <utility>

#include "sotto/checkpoint/detail/disk.hpp"

namespace sotto::detail::checkpoint {

/// Keeps a folder for this process alone, as file_system's lock does: until this ends, or the
/// process, however it ends.
///   errors  `why`, as lock says; nothing is kept then
class folder_lock {
public:
    /// Waits for nobody: see file_system's lock.
    folder_lock(disk files, const std::string& folder, std::error_code& why)
        : files_(std::move(files)), lock_(files_.lock(folder, why)), held_(!why) {}

    /// The other one keeps nothing any more.
    folder_lock(folder_lock&& other) noexcept;
    folder_lock& operator=(folder_lock&&) = delete;
    /// Unlocks the folder, if it is kept.
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
