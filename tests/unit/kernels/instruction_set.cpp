#include "sotto/kernels/instruction_set.hpp"

#include <doctest/doctest.h>

#include <cstdlib>
#include <string>

using sotto::kernels::best_instruction_set;
using sotto::kernels::instruction_set;

// The whole of this executable runs once more for each lower set: see tests/unit/CMakeLists.txt.
TEST_CASE("SOTTO_ISA lowers the instruction set, and raises none") {
    const char* set = std::getenv("SOTTO_ISA");
    const std::string asked = set == nullptr ? "" : set;
    if (asked == "baseline") CHECK(best_instruction_set() == instruction_set::baseline);
    if (asked == "avx2") CHECK(best_instruction_set() <= instruction_set::avx2);
#if defined(__x86_64__)
    const bool fused = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
    if (asked.empty() && fused) CHECK(best_instruction_set() >= instruction_set::avx2);
    if (!fused) CHECK(best_instruction_set() == instruction_set::baseline);
#else
    CHECK(best_instruction_set() == instruction_set::baseline);
#endif
}
