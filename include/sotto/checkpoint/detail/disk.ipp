#pragma once

#include "sotto/checkpoint/detail/disk.hpp"

#include "sotto/core/config.hpp"

namespace sotto::detail::checkpoint {

SOTTO_DECL disk::disk() : disk(posix_files{}) {}

}  // namespace sotto::detail::checkpoint
