#pragma once

#include <cstddef>  // whose library it is

// The only header with macros, and the only one that asks how it is built.

#if __cplusplus < 202002L
#error "sotto needs C++20: compile with -std=c++20 or later (g++ 12, clang 14)"
#endif

/// What a definition in an .ipp file begins with. Without SOTTO_SEPARATE_COMPILATION every unit
/// compiles what it includes; with it, defined for all units of a program, one unit (sotto/src.hpp)
/// or the library sotto::compiled does so once, and the others see declarations alone.
#if defined(SOTTO_SEPARATE_COMPILATION)
#define SOTTO_DECL
#else
#define SOTTO_DECL inline
#endif

/// Marks a function whose multiply-adds must not be fused, so that every instruction set gives the
/// same bits. It is compiled with loop vectorisation on, whatever the unit's own level. Clang takes
/// it from SOTTO_UNFUSED_BODY, which must be the first line of the body.
#if defined(__clang__)
#define SOTTO_UNFUSED
#define SOTTO_UNFUSED_BODY _Pragma("clang fp contract(off)")
#elif defined(__GNUC__)
#define SOTTO_UNFUSED [[gnu::optimize("O3", "fp-contract=off")]]
#define SOTTO_UNFUSED_BODY
#else
#define SOTTO_UNFUSED
#define SOTTO_UNFUSED_BODY
#endif

/// Marks the body of a kernel, which becomes part of every function that is compiled for another
/// instruction set: see kernels/instruction_set.hpp.
#define SOTTO_INLINE [[gnu::always_inline]] inline

/// With SOTTO_BASELINE_ONLY defined on the command line, for all units of a program or for none,
/// kernels are compiled for the unit's own flags and for nothing else: a trainer compiles in less
/// time, and what it computes takes longer. For builds whose speed does not matter, such as tests.
#if defined(__x86_64__) && !defined(SOTTO_BASELINE_ONLY)
#define SOTTO_DISPATCHES
#define SOTTO_UNIT_DISPATCH
#else
#define SOTTO_UNIT_DISPATCH _baseline
#endif

/// Compiles one function for more than the unit's own instruction set. It may run only where
/// kernels::best_instruction_set() says so.
#if defined(__x86_64__)
#define SOTTO_SSE42 [[gnu::target("sse4.2,popcnt")]]
#define SOTTO_AVX2 [[gnu::target("avx2,fma,f16c,bmi,bmi2,popcnt")]]
#define SOTTO_AVX512 \
    [[gnu::target("avx2,fma,f16c,bmi,bmi2,popcnt,avx512f,avx512bw,avx512dq,avx512vl")]]
#else
#define SOTTO_SSE42
#define SOTTO_AVX2
#define SOTTO_AVX512
#endif

/// The namespace of functions that are compiled with the unit's own flags: units with other flags
/// have other functions of these names, so that the linker does not give one unit the code of
/// another, which its processor may not have. It tells apart what compilers use of their own
/// accord.
#define SOTTO_UNIT_OF(a, b, c, d, e, f, g, h, i) SOTTO_UNIT_JOINED(a, b, c, d, e, f, g, h, i)
#define SOTTO_UNIT_JOINED(a, b, c, d, e, f, g, h, i) unit##a##b##c##d##e##f##g##h##i
#if defined(__AVX512F__)
#if defined(__AVX512BW__) && defined(__AVX512DQ__) && defined(__AVX512VL__)
#define SOTTO_UNIT_VECTORS _avx512
#else
#define SOTTO_UNIT_VECTORS _avx512f
#endif
#elif defined(__AVX2__)
#define SOTTO_UNIT_VECTORS _avx2
#elif defined(__AVX__)
#define SOTTO_UNIT_VECTORS _avx
#elif defined(__SSE4_2__)
#define SOTTO_UNIT_VECTORS _sse42
#elif defined(__SSE4_1__)
#define SOTTO_UNIT_VECTORS _sse41
#elif defined(__SSSE3__)
#define SOTTO_UNIT_VECTORS _ssse3
#elif defined(__SSE3__)
#define SOTTO_UNIT_VECTORS _sse3
#elif defined(__ARM_FEATURE_SVE)
#define SOTTO_UNIT_VECTORS _sve
#else
#define SOTTO_UNIT_VECTORS
#endif
#if defined(__AVX512FP16__)
#define SOTTO_UNIT_MORE_VECTORS _fp16
#elif defined(__AVX512BF16__)
#define SOTTO_UNIT_MORE_VECTORS _bf16
#elif defined(__AVX512VPOPCNTDQ__) || defined(__AVX512BITALG__)
#define SOTTO_UNIT_MORE_VECTORS _vpopcnt
#elif defined(__AVX512VBMI2__)
#define SOTTO_UNIT_MORE_VECTORS _vbmi2
#elif defined(__AVX512VBMI__) || defined(__AVX512IFMA__)
#define SOTTO_UNIT_MORE_VECTORS _vbmi
#elif defined(__XOP__) || defined(__FMA4__)
#define SOTTO_UNIT_MORE_VECTORS _xop
#elif defined(__ARM_FEATURE_SVE2)
#define SOTTO_UNIT_MORE_VECTORS _sve2
#elif defined(__ARM_FEATURE_FP16_VECTOR_ARITHMETIC)
#define SOTTO_UNIT_MORE_VECTORS _fp16
#else
#define SOTTO_UNIT_MORE_VECTORS
#endif
#if defined(__AVX512VNNI__) || defined(__AVXVNNI__) || defined(__ARM_FEATURE_DOTPROD)
#define SOTTO_UNIT_DOT _dot
#else
#define SOTTO_UNIT_DOT
#endif
#if defined(__FMA__)
#define SOTTO_UNIT_FMA _fma
#else
#define SOTTO_UNIT_FMA
#endif
#if defined(__F16C__)
#define SOTTO_UNIT_F16C _f16c
#else
#define SOTTO_UNIT_F16C
#endif
#if defined(__BMI2__)
#define SOTTO_UNIT_BITS _bmi2
#elif defined(__BMI__)
#define SOTTO_UNIT_BITS _bmi
#elif defined(__POPCNT__)
#define SOTTO_UNIT_BITS _popcnt
#else
#define SOTTO_UNIT_BITS
#endif
#if defined(__LZCNT__) || defined(__MOVBE__) || defined(__ADX__)
#define SOTTO_UNIT_MORE_BITS _lzcnt
#elif defined(__ARM_FEATURE_ATOMICS)
#define SOTTO_UNIT_MORE_BITS _lse
#else
#define SOTTO_UNIT_MORE_BITS
#endif
#if defined(__FAST_MATH__)
#define SOTTO_UNIT_MATH _fast
#else
#define SOTTO_UNIT_MATH
#endif
#if defined(SOTTO_SEPARATE_COMPILATION)
#define SOTTO_UNIT unit  // one unit compiles them all
#else
#define SOTTO_UNIT                                                                             \
    SOTTO_UNIT_OF(SOTTO_UNIT_VECTORS, SOTTO_UNIT_MORE_VECTORS, SOTTO_UNIT_DOT, SOTTO_UNIT_FMA, \
                  SOTTO_UNIT_F16C, SOTTO_UNIT_BITS, SOTTO_UNIT_MORE_BITS, SOTTO_UNIT_MATH,     \
                  SOTTO_UNIT_DISPATCH)
#endif

/// Where ranks of a simulated network can be contexts of one thread: glibc has them, and sanitizers
/// take their stacks for that thread's.
#if defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer) || \
    __has_feature(memory_sanitizer)
#define SOTTO_SANITIZED
#endif
#elif defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define SOTTO_SANITIZED
#endif
#if defined(__linux__) && defined(__GLIBC__) && !defined(SOTTO_SANITIZED)
#define SOTTO_CONTEXTS
#endif

namespace sotto::detail {
/// One program is header-only or compiled, not both: units of each would have other bodies for the
/// same functions. The linker refuses a name that belongs to each thread in one unit and to all in
/// another, and so prints this one.
#if defined(SOTTO_SEPARATE_COMPILATION)
[[gnu::used, gnu::visibility("hidden")]] inline char sources_mix_header_only_and_compiled_mode = 0;
#else
[[gnu::used,
  gnu::visibility("hidden")]] inline thread_local char sources_mix_header_only_and_compiled_mode =
    0;
#endif
}  // namespace sotto::detail

/// Trains one neural network on many machines over slow networks: everything of this library.
namespace sotto {

/// Whether what is read must carry the digest of its content. Not in a build for a fuzzer
/// (FUZZING_BUILD_MODE_UNSAFE_FOR_PRODUCTION): no search would ever guess one, and so see what
/// comes after it.
#if defined(FUZZING_BUILD_MODE_UNSAFE_FOR_PRODUCTION)
constexpr bool digests_are_checked = false;
#else
constexpr bool digests_are_checked = true;
#endif

}  // namespace sotto
