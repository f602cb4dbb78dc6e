#include "sotto/core/detail/memory/large_pages.hpp"

#include <doctest/doctest.h>

#include <cstddef>
#include <cstdint>
#include <limits>
#include <new>
#include <numeric>
#include <utility>

using namespace sotto;

namespace {

std::size_t place_of(const detail::large_vector<float>& values) {
    return reinterpret_cast<std::uintptr_t>(values.data());
}

}  // namespace

TEST_CASE("memory begins with a cache line, large memory with a large page") {
    for (const std::size_t size : {1u, 15u, 4096u, 524'287u}) {
        const detail::large_vector<float> values(size, 1.0f);
        CHECK(place_of(values) % 64 == 0);
        CHECK(std::accumulate(values.begin(), values.end(), 0.0) == static_cast<double>(size));
    }
    for (const std::size_t size : {524'288u, 524'289u, 2'000'000u}) {
        const detail::large_vector<float> values(size, 1.0f);
        CHECK(place_of(values) % (2 << 20) == 0);
    }
}

TEST_CASE("it grows, moves and is copied as any vector") {
    detail::large_vector<float> values;
    for (int i = 0; i < 1'000'000; ++i) values.push_back(static_cast<float>(i));
    const detail::large_vector<float> copy = values;
    const float* const at = values.data();
    const detail::large_vector<float> moved = std::move(values);
    CHECK(moved.data() == at);
    CHECK(moved == copy);
    CHECK(moved.back() == 999'999.0f);
}

TEST_CASE("more than there are addresses is refused") {
    const std::size_t many = std::numeric_limits<std::size_t>::max() / sizeof(float);
    CHECK_THROWS_AS((void)detail::large_page_allocator<float>::allocate(many + 1), std::bad_alloc);
}
