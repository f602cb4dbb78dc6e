#pragma once

// The xxHash library, compiled into whoever includes it. Its inner loop is handed about as a
// function that must be inlined, which g++ does from -O1 on but not at -Og, where it is an error;
// and what it makes of that loop at -O2 is two thirds as fast as at -O3. So g++ optimises it in one
// way always.

// What xxhash.h would include, which must not come between the pragmas: no more than it needs, for
// <immintrin.h> takes 0.4 s to compile.
#if defined(__AVX2__)
#include <immintrin.h>
#elif defined(__SSE2__)
#include <emmintrin.h>
#endif

#ifndef XXH_INLINE_ALL
#define XXH_INLINE_ALL
#endif
#if defined(__GNUC__) && !defined(__clang__) && defined(__OPTIMIZE__)
#pragma GCC push_options
#pragma GCC optimize("O3")
#include <xxhash.h>
#pragma GCC pop_options
#else
#include <xxhash.h>
#endif

#include <array>
#include <cstddef>

namespace sotto::detail {

/// The bytes of a hash of 128 bits as the xxHash library writes them: the highest first.
inline std::array<std::byte, 16> canonical_bytes(XXH128_hash_t hash) noexcept {
    XXH128_canonical_t canonical;
    XXH128_canonicalFromHash(&canonical, hash);
    std::array<std::byte, 16> out;
    for (std::size_t i = 0; i < out.size(); ++i) out[i] = std::byte{canonical.digest[i]};
    return out;
}

}  // namespace sotto::detail
