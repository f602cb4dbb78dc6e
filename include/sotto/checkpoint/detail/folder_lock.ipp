#pragma once

#include "sotto/checkpoint/detail/folder_lock.hpp"

#include "sotto/core/config.hpp"

namespace sotto::detail::checkpoint {

SOTTO_DECL folder_lock::folder_lock(folder_lock&& other) noexcept
    : files_(std::move(other.files_)),
      lock_(other.lock_),
      held_(std::exchange(other.held_, false)) {}

SOTTO_DECL folder_lock::~folder_lock() {
    if (held_) files_.unlock(lock_);
}

}  // namespace sotto::detail::checkpoint
