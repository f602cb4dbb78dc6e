#include "sotto/data/detail/idx.hpp"

#include <doctest/doctest.h>

#include <cstddef>
#include <cstdint>
#include <string>

#include "unit/data/idx_files.hpp"

using idx_test::idx_file;
using sotto::detail::data::parse_idx;
using sotto::detail::data::parse_idx_header;

TEST_CASE("an IDX file yields its extents and values") {
    const auto file = idx_file({2, 3, 4}, 24);
    const auto array = parse_idx(file);
    REQUIRE(array);
    CHECK(array->header.rank == 3);
    CHECK(array->header.extents == std::array<std::int64_t, 4>{2, 3, 4, 1});
    CHECK(array->header.values == 24);
    CHECK(array->values.size() == 24);
    CHECK(array->values[23] == std::byte{23});
    CHECK(parse_idx(idx_file({5}, 5)));
    CHECK(parse_idx(idx_file({1, 2, 3, 4}, 24)));
    CHECK(parse_idx(idx_file({0, 28, 28}, 0)));
}

TEST_CASE("every truncation of an IDX file is refused, and so is every byte too many") {
    auto file = idx_file({2, 3}, 6);
    for (std::size_t size = 0; size < file.size(); ++size) {
        const auto array = parse_idx(sotto::byte_view(file).first(size));
        REQUIRE_FALSE(array);
        CHECK(array.why().offset == static_cast<std::int64_t>(size));
    }
    file.push_back(std::byte{0});
    const auto array = parse_idx(file);
    REQUIRE_FALSE(array);
    CHECK(array.why().offset == 18);
    CHECK(std::string(array.why().expected) == "the end of the file");
    CHECK(array.why().found == 19);
}

TEST_CASE("an IDX header that is not one of ours is refused where it differs") {
    const auto fault_with = [](std::size_t at, std::uint8_t value) {
        auto file = idx_file({2, 3}, 6);
        file[at] = std::byte{value};
        const auto array = parse_idx(file);
        REQUIRE_FALSE(array);
        return array.why();
    };
    CHECK(fault_with(0, 1).offset == 0);
    CHECK(fault_with(1, 1).offset == 1);
    CHECK(fault_with(2, 0x0d).offset == 2);  // floats
    CHECK(fault_with(2, 0x0d).found == 0x0d);
    CHECK(fault_with(3, 0).offset == 3);
    CHECK(fault_with(3, 5).found == 5);
    CHECK(fault_with(4, 1).offset == 18);  // 2^24 times as many rows: the end comes too early
}

TEST_CASE("extents whose product overflows are refused before anything is computed from it") {
    const std::uint32_t most = 0xffffffffu;
    const auto two = parse_idx_header(idx_file({most, most}, 0));
    REQUIRE_FALSE(two);
    CHECK(two.why().offset == 8);
    CHECK(two.why().found == 0xffffffff);
    CHECK_FALSE(parse_idx_header(idx_file({most, most, most, most}, 0)));
    CHECK_FALSE(parse_idx_header(idx_file({1u << 31, 1u << 10}, 0)));
    CHECK(parse_idx_header(idx_file({1u << 30, 1u << 10}, 0)));  // 2^40 exactly
    CHECK(parse_idx_header(idx_file({0, most, most, most}, 0)));
}
