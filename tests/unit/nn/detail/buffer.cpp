#include "sotto/nn/detail/buffer.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cstdint>

#include "support/allocation_count.hpp"

TEST_CASE("a buffer grows, never shrinks, and begins on a cache line") {
    sotto::detail::nn::buffer<> scratch;
    CHECK(scratch.first(0).empty());
    for (const std::int64_t n : {3, 1000, 7, 1000, 0}) {
        const auto values = scratch.take(n);
        CHECK(values.size() == static_cast<std::size_t>(n));
        CHECK(reinterpret_cast<std::uintptr_t>(values.data()) % 64 == 0);
        std::fill(values.begin(), values.end(), 1.0f);
    }
    const auto where = scratch.first(1000).data();
    const support::allocation_count allocations;
    CHECK(scratch.take(1000).data() == where);
    CHECK(scratch.take(1).data() == where);
    CHECK(allocations.on_this_thread() == 0);
}

TEST_CASE("a copy of a buffer has the same contents elsewhere") {
    sotto::detail::nn::buffer<std::int32_t> one;
    one.take(3)[2] = 42;
    const auto two = one;
    one.take(3)[2] = 0;
    CHECK(two.first(3)[2] == 42);
}
