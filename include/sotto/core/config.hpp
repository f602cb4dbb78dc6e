#pragma once

// The only header with macros.

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

/// Compiles one function for more than the unit's own instruction set. It may run only where
/// kernels::best_instruction_set() says so.
#if defined(__x86_64__)
#define SOTTO_AVX2 [[gnu::target("avx2,fma")]]
#define SOTTO_AVX512 [[gnu::target("avx2,fma,avx512f,avx512bw,avx512dq,avx512vl")]]
#else
#define SOTTO_AVX2
#define SOTTO_AVX512
#endif
