#pragma once

// Compiles the xxHash library into the including file. The library passes its inner loop as a
// function that must be inlined. g++ inlines it from -O1 on; at -Og it reports an error. At -O2 the
// loop runs at two thirds of the speed of -O3. So g++ uses -O3 here whenever it optimises.

// Includes what xxhash.h would include, because no include may be between the pragmas. The choice
// is minimal: <immintrin.h> takes 0.4 s to compile.
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

/// Returns the bytes of a 128-bit hash as the xxHash library writes them, the highest first.
inline std::array<std::byte, 16> canonical_bytes(XXH128_hash_t hash) noexcept {
    XXH128_canonical_t canonical;
    XXH128_canonicalFromHash(&canonical, hash);
    std::array<std::byte, 16> out;
    for (std::size_t i = 0; i < out.size(); ++i) out[i] = std::byte{canonical.digest[i]};
    return out;
}

}  // namespace sotto::detail
