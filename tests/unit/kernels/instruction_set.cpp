#include "sotto/kernels/detail/simd/run_on.hpp"
#include "sotto/kernels/instruction_set.hpp"

#include <doctest/doctest.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <utility>

using sotto::detail::kernels::instruction_set;
using sotto::detail::kernels::name_of;
using sotto::kernels::best_instruction_set;

namespace {

constexpr instruction_set all_sets[] = {instruction_set::baseline, instruction_set::sse4_2,
                                        instruction_set::avx2, instruction_set::avx512};

/// The set that is taken, and what is said about it.
std::pair<instruction_set, std::string> obey(const char* asked, instruction_set found,
                                             std::atomic_flag& has_complained) {
    std::FILE* const said = std::tmpfile();
    REQUIRE(said != nullptr);
    const instruction_set taken =
        sotto::detail::kernels::obey_sotto_isa(asked, found, said, has_complained);
    std::rewind(said);
    std::string text;
    for (int c = std::fgetc(said); c != EOF; c = std::fgetc(said))
        text.push_back(static_cast<char>(c));
    std::fclose(said);
    return {taken, text};
}

/// Where nothing was said before.
std::pair<instruction_set, std::string> obey(const char* asked, instruction_set found) {
    std::atomic_flag has_complained;
    return obey(asked, found, has_complained);
}

struct set_that_runs {
    template <instruction_set Set>
    SOTTO_INLINE static instruction_set run(int) noexcept {
        return Set;
    }
};

}  // namespace

// The whole of this executable runs once more for each lower set: see tests/unit/CMakeLists.txt.
TEST_CASE("SOTTO_ISA lowers the instruction set, and raises none") {
    instruction_set has = instruction_set::baseline;
#if defined(__x86_64__)
    if (__builtin_cpu_supports("sse4.2") && __builtin_cpu_supports("popcnt"))
        has = instruction_set::sse4_2;
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"))
        has = instruction_set::avx2;
    if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
        __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl"))
        has = instruction_set::avx512;
#endif
    const char* asked = std::getenv("SOTTO_ISA");
    instruction_set expected = has;
    for (const auto set : all_sets)
        if (asked != nullptr && asked == name_of(set) && set < has) expected = set;
    CHECK(best_instruction_set() == expected);
}

TEST_CASE("a SOTTO_ISA that this processor has is taken without a word, and so is none") {
    for (const auto set : all_sets) {
        const std::string name(name_of(set));
        CHECK(obey(name.c_str(), instruction_set::avx512) == std::pair(set, std::string()));
        CHECK(obey(name.c_str(), set) == std::pair(set, std::string()));
        CHECK(obey(nullptr, set) == std::pair(set, std::string()));
        CHECK(obey("", set) == std::pair(set, std::string()));
    }
}

TEST_CASE("a SOTTO_ISA that cannot be had is named in one line, with what is taken instead") {
    CHECK(obey("avx9", instruction_set::avx2) ==
          std::pair(instruction_set::avx2,
                    std::string("sotto: SOTTO_ISA is 'avx9', expected baseline, sse4_2 or avx2; "
                                "using avx2\n")));
    CHECK(obey("avx512", instruction_set::sse4_2) ==
          std::pair(instruction_set::sse4_2,
                    std::string("sotto: SOTTO_ISA is 'avx512', which this processor does not have; "
                                "using sse4_2\n")));
}

TEST_CASE("a SOTTO_ISA that is unknown is answered with the names that can be had") {
    const std::pair<instruction_set, std::string> names[] = {
        {instruction_set::baseline, "baseline"},
        {instruction_set::sse4_2, "baseline or sse4_2"},
        {instruction_set::avx2, "baseline, sse4_2 or avx2"},
        {instruction_set::avx512, "baseline, sse4_2, avx2 or avx512"}};
    for (const auto& [found, expected] : names)
        CHECK(obey("neon", found).second == "sotto: SOTTO_ISA is 'neon', expected " + expected +
                                                "; using " + std::string(name_of(found)) + "\n");
}

TEST_CASE("a wrong SOTTO_ISA is complained of once, whoever asked before and was content") {
    std::atomic_flag has_complained;
    for (const char* content : {"baseline", "avx2", ""}) {
        obey(content, instruction_set::avx2, has_complained);
        CHECK(!has_complained.test());
    }
    CHECK(!obey("avx9", instruction_set::avx2, has_complained).second.empty());
    for (const char* wrong : {"avx9", "avx512"})
        CHECK(obey(wrong, instruction_set::avx2, has_complained) ==
              std::pair(instruction_set::avx2, std::string()));
}

TEST_CASE("every instruction set has the name that SOTTO_ISA takes") {
    CHECK(name_of(instruction_set::baseline) == "baseline");
    CHECK(name_of(instruction_set::sse4_2) == "sse4_2");
    CHECK(name_of(instruction_set::avx2) == "avx2");
    CHECK(name_of(instruction_set::avx512) == "avx512");
}

TEST_CASE("a kernel runs as it was compiled for the set that was asked for") {
    using sotto::detail::kernels::run_on;
    for (const auto set : all_sets)
        if (set <= best_instruction_set()) CHECK(run_on<set_that_runs>(set, 0) == set);
    CHECK(sotto::detail::kernels::run_widest<set_that_runs>(0) == best_instruction_set());
}
