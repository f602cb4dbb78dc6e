#include "sotto/wire/detail/coding/gap_classes.hpp"

#include <doctest/doctest.h>

#include <cstdint>
#include <span>
#include <vector>

#include "support/index_lists.hpp"

using namespace sotto;
using namespace sotto::wire;
using namespace sotto::detail::wire;

TEST_CASE("classes are neighbours in order, each as wide as it says") {
    for (int fine = 0; fine <= 3; ++fine) {
        const gap_classes classes{fine};
        int last = -1;
        for (std::uint64_t gap = 0; gap < 5000; ++gap) {
            const int number = classes.of(gap);
            REQUIRE(number >= last);
            REQUIRE(number <= last + 1);
            last = number;
            REQUIRE(classes.lowest(number) <= gap);
            REQUIRE(gap < classes.lowest(number) + (std::uint64_t{1} << classes.width(number)));
            REQUIRE(classes.lowest(number + 1) ==
                    classes.lowest(number) + (std::uint64_t{1} << classes.width(number)));
        }
        for (int width = 0; width < 40; ++width) {
            const std::uint64_t gap = (std::uint64_t{2} << width) - 1;
            const int number = classes.of(gap);
            CHECK(classes.lowest(number) + (std::uint64_t{1} << classes.width(number)) - 1 == gap);
        }
    }
}

TEST_CASE("coarsened counts are those of coarser classes") {
    const auto indices = testing::bursts_of_indices(1'000'000, 3001, 4);
    for (int fine = 0; fine <= 2; ++fine) {
        gap_counts counts{std::span<const std::uint32_t>(indices)};
        counts.coarsen(gap_classes{fine});
        std::vector<std::uint64_t> expected(prefix_code::symbols_max);
        std::uint64_t next = 0;
        for (const std::uint64_t index : indices) {
            ++expected[static_cast<std::size_t>(gap_classes{fine}.of(index - next))];
            next = index + 1;
        }
        CHECK(std::vector<std::uint64_t>(counts.values().begin(), counts.values().end()) ==
              expected);
    }
}

TEST_CASE("the class code comes back at every fineness, in the bits it says") {
    for (int fine = 0; fine <= 3; ++fine)
        for (const std::size_t k : {1u, 2u, 3u, 50u, 2000u}) {
            auto indices = testing::bursts_of_indices(std::uint64_t{1} << 29, k, k);
            indices.push_back(std::uint32_t{1} << 29);
            gap_counts counts{std::span<const std::uint32_t>(indices)};
            counts.coarsen(gap_classes{fine});
            const auto code = class_code::of(counts);
            bytes out;
            bit_writer writer(out, code.bits);
            code.write(std::span<const std::uint32_t>(indices), writer);
            writer.finish();
            CHECK(static_cast<std::int64_t>(out.size()) == (code.bits + 7) / 8);
            bit_reader reader(out);
            testing::index_list back(indices.size());
            REQUIRE(class_code::read(std::int64_t{1} << 30, reader, std::span(back)));
            CHECK(reader.finished());
            CHECK(back == indices);
            bit_reader smaller(out);
            CHECK_FALSE(class_code::read(std::int64_t{indices.back()}, smaller, std::span(back)));
        }
}

TEST_CASE("a class above all that fits the tensor is refused, however small its code") {
    // fine 0: symbols 0 and 300 with one bit each; class 300 would be 2^299 wide.
    bytes out;
    bit_writer writer(out);
    writer.put(0, 2);
    writer.put(0b1111 | 1 << 4, 8);
    writer.put(0b0111, 4);
    writer.put(0x100, 9);
    writer.put(299 - 256, 8);
    writer.put(0b0, 1);
    writer.put(0, 56);
    writer.finish();
    bit_reader reader(out);
    std::vector<std::uint64_t> back(2);
    const auto read = class_code::read(std::int64_t{1} << 40, reader, std::span(back));
    REQUIRE_FALSE(read);
    CHECK(read.why().found == 301);
}
