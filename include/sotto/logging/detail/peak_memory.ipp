#pragma once

#include "sotto/logging/detail/peak_memory.hpp"

#include <sys/resource.h>

#include "sotto/core/config.hpp"

namespace sotto::detail {

SOTTO_DECL std::int64_t peak_memory_bytes() noexcept {
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
