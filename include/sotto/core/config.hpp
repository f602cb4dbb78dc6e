#pragma once

#include <cstddef>  // names the standard library

// The only header that defines macros and checks build settings.

#if __cplusplus < 202002L
#error "sotto needs C++20: compile with -std=c++20 or later (g++ 12, clang 14)"
#endif

/// Starts a definition in an .ipp file. Without SOTTO_SEPARATE_COMPILATION every unit compiles what
/// it includes. Define it for all units of a program to compile definitions once, in one unit
/// (sotto/src.hpp) or in the library sotto::compiled. The other units then compile declarations
/// only.
#if defined(SOTTO_SEPARATE_COMPILATION)
#define SOTTO_DECL
#else
#define SOTTO_DECL inline
#endif

/// Marks a function whose multiply-adds must not be fused, so that every instruction set gives the
/// same bits. g++ vectorises its loops at any optimisation level of the unit. Clang needs
/// SOTTO_UNFUSED_BODY, as the first line of the body.
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

/// Marks the body of a kernel. The compiler inlines it into every function that is compiled for
/// another instruction set: see kernels/instruction_set.hpp.
#define SOTTO_INLINE [[gnu::always_inline]] inline

/// Define SOTTO_BASELINE_ONLY on the command line, for all units of a program or for none, to
/// compile kernels for the unit's own flags only. A trainer then compiles in less time and runs
/// slower. For builds whose speed does not matter, such as tests.
#if defined(__x86_64__) && !defined(SOTTO_BASELINE_ONLY)
#define SOTTO_DISPATCHES
#define SOTTO_UNIT_DISPATCH
#else
#define SOTTO_UNIT_DISPATCH _baseline
#endif

/// Compiles one function for more than the unit's own instruction set. Call it only if
/// kernels::best_instruction_set() allows it.
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

/// Namespace of functions that are compiled with the unit's own flags. Units with other flags use
/// another namespace. Otherwise the linker could give one unit the code of another, which its
/// processor may not run. The name lists the instruction sets that compilers use without being
/// asked.
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
#define SOTTO_UNIT unit  // one unit compiles all definitions
#else
#define SOTTO_UNIT                                                                             \
    SOTTO_UNIT_OF(SOTTO_UNIT_VECTORS, SOTTO_UNIT_MORE_VECTORS, SOTTO_UNIT_DOT, SOTTO_UNIT_FMA, \
                  SOTTO_UNIT_F16C, SOTTO_UNIT_BITS, SOTTO_UNIT_MORE_BITS, SOTTO_UNIT_MATH,     \
                  SOTTO_UNIT_DISPATCH)
#endif

/// True if ranks of a simulated network can be contexts of one thread. glibc has contexts;
/// sanitizers mistake their stacks for the stack of the thread.
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
/// A program is either header-only or compiled. A mix would give units different bodies of the same
/// functions. The linker refuses a name that is thread-local in one unit and global in another, and
/// prints this name in its error.
#if defined(SOTTO_SEPARATE_COMPILATION)
[[gnu::used, gnu::visibility("hidden")]] inline char sources_mix_header_only_and_compiled_mode = 0;
#else
[[gnu::used,
  gnu::visibility("hidden")]] inline thread_local char sources_mix_header_only_and_compiled_mode =
    0;
#endif
}  // namespace sotto::detail

/// Library for training one neural network on many machines over slow networks.
namespace sotto {

/// True if readers require the digest of what they read. False in a build for a fuzzer
/// (FUZZING_BUILD_MODE_UNSAFE_FOR_PRODUCTION): a fuzzer never guesses a digest, so it would not
/// reach the code behind the check.
#if defined(FUZZING_BUILD_MODE_UNSAFE_FOR_PRODUCTION)
constexpr bool digests_are_checked = false;
#else
constexpr bool digests_are_checked = true;
#endif

}  // namespace sotto
