#include "sotto/data/detail/cifar10.hpp"

#include <doctest/doctest.h>

#include <cstddef>
#include <cstdint>
#include <string>

#include "unit/data/cifar10_files.hpp"

using cifar10_test::cifar10_file;
using sotto::detail::data::parse_cifar10;

TEST_CASE("a CIFAR-10 file yields its labels and images") {
    const auto file = cifar10_file({3, 0, 9});
    const auto records = parse_cifar10(file);
    REQUIRE(records);
    CHECK(records->size() == 3);
    CHECK(records->label(0) == 3);
    CHECK(records->label(2) == 9);
    CHECK(records->image(1).data() == file.data() + 3073 + 1);
    CHECK(records->image(2).size() == 3072);
    CHECK(records->image(2).data() + 3072 == file.data() + file.size());
}

TEST_CASE("a CIFAR-10 file of any size but whole records is refused where a record is cut short") {
    const auto file = cifar10_file({1, 2, 3});
    for (std::size_t size = 0; size < file.size(); ++size) {
        const auto records = parse_cifar10(sotto::byte_view(file).first(size));
        const bool whole = size == 3073 || size == 2 * 3073;
        REQUIRE(static_cast<bool>(records) == whole);
        if (whole) continue;
        CHECK(records.why().offset == static_cast<std::int64_t>(size / 3073 * 3073));
        CHECK(records.why().found == static_cast<std::int64_t>(size % 3073));
        CHECK(std::string(records.why().expected) == "a whole record (3073 bytes)");
    }
}

TEST_CASE("a label above 9 is refused where it stands") {
    for (int label = 0; label < 256; ++label) {
        const auto file = cifar10_file({1, label, 255});
        const auto records = parse_cifar10(file);
        REQUIRE_FALSE(records);
        CHECK(records.why().offset == (label > 9 ? 3073 : 2 * 3073));
        CHECK(records.why().found == (label > 9 ? label : 255));
        CHECK(std::string(records.why().expected) == "a label of 0 to 9");
    }
}
