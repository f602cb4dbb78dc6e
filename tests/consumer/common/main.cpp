#include <cstdio>

#include "use.hpp"

#ifdef SOTTO_SEPARATE_COMPILATION
#include <sotto/transports/tcp.hpp>

static const char* mode = "compiled";

// No header has the code of this: it is linked from what was compiled once.
static bool tcp_is_there() {
    try {
        sotto::tcp::meeting({.rank = 2, .size = 2});
        return false;
    } catch (const sotto::invalid_option&) {
        return true;
    }
}
#else
static const char* mode = "header-only";

static bool tcp_is_there() {
    return true;  // for all of its headers to compile takes long
}
#endif

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
    const bool tcp = tcp_is_there();
    std::printf("sotto %d.%d.%d, %s: warnings %s, other processor %s%s\n", SOTTO_VERSION_MAJOR,
                SOTTO_VERSION_MINOR, SOTTO_VERSION_PATCH, mode, strict_agrees ? "agree" : "DIFFER",
                wide_agrees ? "agrees" : "DIFFERS", tcp ? "" : ", TCP TAKES A RANK THAT CANNOT BE");
    return strict_agrees && wide_agrees && tcp ? 0 : 1;
}
