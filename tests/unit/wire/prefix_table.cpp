#include <doctest/doctest.h>

#include <array>
#include <cstdint>
#include <utility>
#include <vector>

#include "sotto/core/random.hpp"
#include "sotto/wire/detail/coding/prefix_code.hpp"

using namespace sotto;
using namespace sotto::wire;
using namespace sotto::detail::wire;

TEST_CASE("a table knows the code that every number begins with, and no number without one") {
    random_stream random(3);
    for (int round = 0; round < 300; ++round) {
        std::vector<std::uint64_t> counts(2 + random.below(303));
        for (auto& count : counts)
            count = random.below(3) == 0 ? 0 : random.bits64() >> (24 + random.below(40)) >> 9;
        counts[random.below(counts.size())] += 1;
        const auto code = prefix_code::of(counts);

        using entry = std::pair<std::size_t, int>;
        std::array<entry, 1 << prefix_code::length_max> table;
        const int longest = code.fill_table(table, [](std::size_t symbol, int length) {
            return entry{symbol, length};
        });
        REQUIRE(longest == code.longest());
        std::vector<int> codes(std::size_t{1} << longest);
        code.for_each([&](std::size_t symbol, std::uint32_t bits, int length) {
            for (std::size_t i = bits; i < codes.size(); i += std::size_t{1} << length) {
                REQUIRE(table[i] == entry{symbol, length});
                ++codes[i];
            }
        });
        for (const int number : codes) REQUIRE(number == 1);
    }
}
