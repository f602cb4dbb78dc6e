#pragma once

#include <sys/resource.h>

#include <cstdint>

namespace sotto::detail {

/// The most memory that this process has had in use so far, in bytes; 0 where the system does not
/// say. Workers that are threads of one process share it.
inline std::int64_t peak_memory_bytes() noexcept {
    rusage used{};
    if (::getrusage(RUSAGE_SELF, &used) != 0) return 0;
#ifdef __APPLE__
    constexpr std::int64_t unit = 1;
#else
    constexpr std::int64_t unit = 1024;
#endif
    return unit * static_cast<std::int64_t>(used.ru_maxrss);
}

}  // namespace sotto::detail
