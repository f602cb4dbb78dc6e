#include "sotto/data/digits.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdlib>

#include "sotto/data/dataset.hpp"

using sotto::random_stream;
using sotto::data::digits;

namespace {

std::uint64_t digest(const sotto::data::labelled_set& set) {
    std::uint64_t hash = 0xcbf29ce484222325u;  // FNV-1a
    const auto add = [&hash](std::uint64_t byte) { hash = (hash ^ byte) * 0x100000001b3u; };
    for (std::int64_t i = 0; i < set.size(); ++i) {
        for (const std::uint8_t byte : set.bytes(i)) add(byte);
        add(static_cast<std::uint64_t>(set.label(i)));
    }
    return hash;
}

bool same_example(const sotto::data::labelled_set& a, std::int64_t i,
                  const sotto::data::labelled_set& b, std::int64_t j) {
    return a.label(i) == b.label(j) &&
           std::equal(a.bytes(i).begin(), a.bytes(i).end(), b.bytes(j).begin());
}

}  // namespace

TEST_CASE("generated digits are pinned byte for byte: every compiler and machine draws these") {
    CHECK(digest(digits(1000)) == 0x8724b3c15b22c683u);
}

TEST_CASE("a digit depends on its stream and number alone, not on how many are drawn") {
    const auto few = digits(10, random_stream{5}), many = digits(40, random_stream{5}),
               others = digits(10, random_stream{6});
    for (std::int64_t i = 0; i < 10; ++i) {
        CHECK(same_example(few, i, many, i));
        CHECK_FALSE(same_example(few, i, others, i));
    }
}

TEST_CASE("digits are 28 x 28 pixels with ink in the middle, and come equally often") {
    const auto set = digits(2000, random_stream{8});
    CHECK(set.shape() == sotto::data::labelled_set::example_shape{1, 28, 28});
    CHECK(set.classes() == 10);
    std::array<int, 10> times{};
    std::int64_t inside = 0, border = 0;
    for (std::int64_t i = 0; i < set.size(); ++i) {
        ++times[static_cast<std::size_t>(set.label(i))];
        const auto pixels = set.bytes(i);
        CHECK(*std::max_element(pixels.begin(), pixels.end()) >= 60);
        for (std::size_t p = 0; p < pixels.size(); ++p) {
            const bool at_border = p / 28 < 2 || p / 28 >= 26 || p % 28 < 2 || p % 28 >= 26;
            (at_border ? border : inside) += pixels[p];
        }
    }
    CHECK(inside / 576 > 3 * border / 208);
    for (const int n : times) CHECK(std::abs(n - 200) < 4 * 14);  // four standard deviations
}

TEST_CASE("training and test digits are different drawings") {
    const auto [train, test] = sotto::data::digits_train_test(50, 50);
    for (std::int64_t i = 0; i < 50; ++i)
        for (std::int64_t j = 0; j < 50; ++j) CHECK_FALSE(same_example(train, i, test, j));
}

TEST_CASE("no digits are a set without examples, and fewer are refused") {
    CHECK(digits(0).size() == 0);
    CHECK_THROWS_WITH_AS(digits(-1),
                         "digits: count is -1; it must be at least 0 and at most 2147483647",
                         sotto::invalid_option);
}
