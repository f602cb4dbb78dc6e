#include "sotto/nn/shape.hpp"

#include <doctest/doctest.h>

#include <cstdint>
#include <vector>

#include "sotto/core/errors.hpp"

using namespace sotto::nn;

TEST_CASE("windows are counted one by one") {
    for (std::int64_t side = 1; side <= 9; ++side)
        for (std::int64_t size = 1; size <= 4; ++size)
            for (std::int64_t stride = 1; stride <= 4; ++stride)
                for (std::int64_t padding = 0; padding < size; ++padding) {
                    if (size > side + 2 * padding) continue;
                    std::int64_t places = 0;
                    for (std::int64_t at = -padding; at + size <= side + padding; at += stride)
                        ++places;
                    CHECK(window_positions("test", side,
                                           {.size = size, .stride = stride, .padding = padding}) ==
                          places);
                }
}

TEST_CASE("windows that cannot slide are refused by the name of their option") {
    CHECK_THROWS_WITH_AS(window_positions("conv7", 4, {.name = "kernel", .size = 0}),
                         "conv7: kernel is 0; expected 1 to 2147483647", sotto::invalid_option);
    CHECK_THROWS_WITH_AS(window_positions("pool", 4, {.size = 5}),
                         "pool: window is 5; expected at most the padded input's side, 4",
                         sotto::invalid_option);
    CHECK_THROWS_WITH_AS(window_positions("pool", 4, {.size = 2, .padding = 2}),
                         "pool: padding is 2; expected less than the window, 2",
                         sotto::invalid_option);
    CHECK_THROWS_AS(window_positions("pool", 4, {.size = std::int64_t{1} << 62}),
                    sotto::invalid_option);
}

TEST_CASE("a shape holds at least one value, and no more than BLAS can count") {
    CHECK(shape{3}.size() == 3);
    CHECK(shape{2, 3, 5}.plane() == 15);
    CHECK_NOTHROW(check_shape("test", {1, 1, 2147483647}));
    for (const shape s : {shape{0, 1, 1}, shape{1, -1, 1}, shape{1, 1, std::int64_t{1} << 31},
                          shape{1 << 30, 1 << 30, 1 << 30}, shape{1 << 11, 1 << 10, 1 << 10}})
        CHECK_THROWS_AS(check_shape("test", s), sotto::invalid_option);
    const std::vector<float> values(12);
    CHECK(examples_in(values, {1, 2, 3}) == 2);
}
