#pragma once

#include <cstdint>

namespace sotto::detail {

/// Returns the peak memory of this process in bytes; 0 if the system does not report it. Workers
/// that are threads of one process share it.
std::int64_t peak_memory_bytes() noexcept;

}  // namespace sotto::detail

#ifndef SOTTO_SEPARATE_COMPILATION
#include "sotto/logging/detail/peak_memory.ipp"
#endif
