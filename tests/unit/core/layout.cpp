#include "sotto/core/layout.hpp"

#include <doctest/doctest.h>

#include <vector>

using namespace sotto;

TEST_CASE("tensors lie one after another without gaps") {
    layout tensors;
    tensors.add("a", {2, 3}).add("b", {4}, tensor_kind::bias).add("scalar", {}).add("none", {0, 5});
    CHECK(tensors.size() == 11);
    CHECK(tensors[1].offset == 6);
    CHECK(tensors[2].size == 1);
    CHECK(tensors[3].size == 0);
    CHECK(tensors[3].offset == 11);
    CHECK(tensors.find("b") == &tensors[1]);
    CHECK(tensors.find("c") == nullptr);
    CHECK_FALSE(tensors[0].is_vector());
    CHECK(tensors[1].is_vector());
    CHECK(tensors[2].is_vector());
    std::vector<float> values(11);
    CHECK(tensors[1].of(std::span(values)).data() == values.data() + 6);
    CHECK(tensors[3].of(std::span(values)).empty());
}

TEST_CASE("impossible tensors are refused by name") {
    layout tensors;
    tensors.add("a", {2});
    CHECK_THROWS_WITH_AS(tensors.add("a", {3}), "layout: two tensors are named 'a'",
                         invalid_option);
    CHECK_THROWS_AS(tensors.add("", {3}), invalid_option);
    CHECK_THROWS_WITH_AS(
        tensors.add("__metadata__", {3}),
        "layout: a tensor is named '__metadata__', which safetensors files use for "
        "another purpose; give it another name",
        invalid_option);
    tensors.add("b\x1b", {0});
    CHECK_THROWS_WITH_AS(tensors.add("b\x1b", {0}), "layout: two tensors are named 'b\\x1b'",
                         invalid_option);
    CHECK_THROWS_WITH_AS(
        tensors.add("b", {3, -1}),
        "layout: tensor 'b' has extent -1; extents are at least 0 and a layout holds at most 2^40 "
        "floats",
        invalid_option);
    CHECK_THROWS_AS(tensors.add("big", {std::int64_t{1} << 32, std::int64_t{1} << 32}),
                    invalid_option);
    CHECK_THROWS_AS(tensors.add("over", {layout::size_max - 1}), invalid_option);
    CHECK(tensors.size() == 2);
}
