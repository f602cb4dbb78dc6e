#pragma once

#include <cstdint>

#include "sotto/core/bytes.hpp"
#include "sotto/core/config.hpp"
#include "sotto/kernels/detail/simd/vector.hpp"
#include "sotto/kernels/instruction_set.hpp"

namespace sotto::detail::kernels::inline SOTTO_UNIT {

/// Returns the XXH3-64 of some bytes with a seed. It detects accidents, not forgeries. The xxHash
/// library is compiled for the translation unit's own instruction set; here long contents use the
/// widest available.
///   cost    in cache, by g++ 12: 20 GB/s by SSE2, as the library, and 46 by AVX2 (Zen 4); 43 by
///           AVX2 and 70 by AVX-512 (Xeon, Sapphire Rapids)
///   source  https://github.com/Cyan4973/xxHash, doc/xxhash_spec.md
std::uint64_t digest(byte_view content, std::uint64_t seed) noexcept;

}  // namespace sotto::detail::kernels::inline SOTTO_UNIT

#ifndef SOTTO_SEPARATE_COMPILATION
#include "sotto/kernels/detail/simd/digest.ipp"
#endif
