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
