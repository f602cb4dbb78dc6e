#include "sotto/kernels/detail/simd/bit_places.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "sotto/core/random.hpp"
#include "sotto/kernels/detail/simd/processor.hpp"
#include "sotto/kernels/detail/simd/unfused.hpp"
#include "sotto/kernels/instruction_set.hpp"
#include "support/lanes.hpp"

namespace kernels = sotto::kernels;
using sotto::detail::kernels::instruction_set;

namespace {

struct by_fours {
    template <instruction_set Set>
    SOTTO_INLINE static std::size_t run(std::uint64_t bits, std::uint32_t first,
                                        std::uint32_t* to) noexcept {
        return sotto::detail::kernels::places_by_fours::write(bits, first, to);
    }
};

struct by_bytes {
    template <instruction_set Set>
    SOTTO_INLINE static std::size_t run(std::uint64_t bits, std::uint32_t first,
                                        std::uint32_t* to) noexcept {
        return sotto::detail::kernels::places_by_bytes<Set>::write(bits, first, to);
    }
};

/// So many bits: the lowest, the highest, and some in between.
std::vector<std::uint64_t> bits_with(int count, sotto::random_stream& random) {
    const std::uint64_t lowest = count == 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << count) - 1;
    std::vector<std::uint64_t> all{lowest, std::rotr(lowest, count)};
    for (int i = 0; i < 20; ++i) {
        std::uint64_t bits = 0;
        while (std::popcount(bits) < count) bits |= std::uint64_t{1} << random.below(64);
        all.push_back(bits);
    }
    return all;
}

template <class Way>
void check(instruction_set set, std::uint64_t bits, std::uint32_t first) {
    constexpr std::uint32_t guard = 0xA5A5A5A5u;
    constexpr std::size_t room = 64;
    std::vector<std::uint32_t> expected;
    for (std::uint32_t i = 0; i < 64; ++i)
        if ((bits >> i & 1) != 0) expected.push_back(first + i);
    std::array<std::uint32_t, room + 16> to;
    to.fill(guard);
    const std::size_t count = sotto::detail::kernels::run_unfused<Way>(set, bits, first, to.data());
    REQUIRE(count == expected.size());
    REQUIRE(std::equal(expected.begin(), expected.end(), to.begin()));
    REQUIRE(std::all_of(to.begin() + room, to.end(), [](std::uint32_t i) { return i == guard; }));
}

}  // namespace

TEST_CASE("the places of all bits that are set, and nothing behind the sixty-fourth") {
    sotto::random_stream random(1);
    for (const int set_bits : {0, 1, 3, 4, 5, 15, 16, 17, 32, 33, 48, 49, 63, 64})
        for (const std::uint64_t bits : bits_with(set_bits, random))
            for (const std::uint32_t first : {0u, 64u, 0xFFFFFFFFu - 63u})
                sotto::testing::on_every_set([&](instruction_set set) {
                    check<by_fours>(set, bits, first);
                    // Only the widest set has a way of its own, and only where the processor can.
                    if (set != instruction_set::avx512 ||
                        sotto::detail::kernels::this_processor().compresses_bytes)
                        check<by_bytes>(set, bits, first);
                });
}
