#pragma once

#include <cstdint>

namespace sotto::detail {

/// The most memory that this process has had in use so far, in bytes; 0 where the system does not
/// say. Workers that are threads of one process share it.
std::int64_t peak_memory_bytes() noexcept;

}  // namespace sotto::detail

#ifndef SOTTO_SEPARATE_COMPILATION
#include "sotto/logging/detail/peak_memory.ipp"
#endif
