#include <cstdio>

#include "use.hpp"

static bool runs_wide_code() {
#if defined(__x86_64__)
    return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
#else
    return true;
#endif
}

int main() {
    const std::uint64_t plain = use(7);
    const bool strict_agrees = use_strictly(7) == plain;
    const bool wide_agrees = !runs_wide_code() || use_widely(7) == plain;
    std::printf("sotto %d.%d.%d: warnings %s, other processor %s\n", SOTTO_VERSION_MAJOR,
                SOTTO_VERSION_MINOR, SOTTO_VERSION_PATCH, strict_agrees ? "agree" : "DIFFER",
                wide_agrees ? "agrees" : "DIFFERS");
    return strict_agrees && wide_agrees ? 0 : 1;
}
