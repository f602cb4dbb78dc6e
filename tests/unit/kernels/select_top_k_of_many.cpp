#include "sotto/kernels/select_top_k_of_many.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <limits>
#include <vector>

#include "sotto/core/random.hpp"
#include "support/plain_top_k.hpp"

#if defined(__linux__) && defined(__LP64__)
#include <sys/mman.h>
#endif

using namespace sotto;

namespace {

struct tensors {
    std::vector<std::vector<float>> values;
    std::vector<std::span<const float>> spans() const { return {values.begin(), values.end()}; }
};

tensors make(std::initializer_list<std::size_t> sizes, bool ties, std::uint64_t seed) {
    random_stream random(seed);
    tensors made;
    for (const std::size_t size : sizes) {
        std::vector<float> one(size);
        for (float& value : one)
            value = ties ? static_cast<float>(random.below(5)) - 2.0f
                         : static_cast<float>(random.normal());
        made.values.push_back(one);
    }
    return made;
}

void check_all(const tensors& of, std::int64_t k) {
    std::vector<float> joined;
    for (const auto& one : of.values) joined.insert(joined.end(), one.begin(), one.end());
    const auto expected = testing::plain_top_k(joined, static_cast<std::size_t>(k));
    kernels::many_top_k_scratch scratch;
    const auto found = kernels::select_top_k_of_all(of.spans(), k, scratch);
    REQUIRE(found.size() == of.values.size());
    std::vector<std::uint32_t> places;
    std::size_t first = 0;
    for (std::size_t t = 0; t < found.size(); first += of.values[t++].size())
        for (std::size_t i = 0; i < found[t].indices.size(); ++i) {
            REQUIRE(found[t].indices[i] < of.values[t].size());
            REQUIRE(found[t].values[i] == of.values[t][found[t].indices[i]]);
            places.push_back(static_cast<std::uint32_t>(first + found[t].indices[i]));
        }
    REQUIRE(places == expected);
}

}  // namespace

TEST_CASE("the k largest of each tensor are those of one call a tensor") {
    for (const bool ties : {false, true}) {
        const tensors of = make({0, 1, 100, 5000, 40000, 3, 90000}, ties, 1);
        const std::vector<std::int64_t> k{0, 1, 7, 50, 400, 0, 9000};
        kernels::many_top_k_scratch scratch;
        kernels::top_k_scratch one;
        const auto found = kernels::select_top_k_of_each(of.spans(), k, scratch);
        REQUIRE(found.size() == k.size());
        for (std::size_t t = 0; t < k.size(); ++t) {
            const auto expected = kernels::select_top_k(of.values[t], k[t], one);
            CHECK(std::ranges::equal(found[t].indices, expected.indices));
            CHECK(std::ranges::equal(found[t].values, expected.values));
        }
    }
}

TEST_CASE("the k largest of all tensors are those of one vector of them all") {
    for (const bool ties : {false, true}) {
        for (const std::int64_t k : {0, 1, 10, 100}) check_all(make({10, 0, 50, 40}, ties, 2), k);
        for (const std::int64_t k : {1, 135, 1351, 13510, 135106})
            check_all(make({0, 1, 100, 5000, 40000, 5, 90000}, ties, 3), k);
    }
    // All tensors smaller than a line of the sample.
    tensors small;
    for (int t = 0; t < 3000; ++t) small.values.push_back(make({9}, false, 4).values[0]);
    check_all(small, 500);
}

TEST_CASE("a NaN is refused by its tensor and place") {
    tensors of = make({20000, 30, 20000}, false, 6);
    of.values[2][17] = std::numeric_limits<float>::quiet_NaN();
    kernels::many_top_k_scratch scratch;
    CHECK_THROWS_WITH_AS(kernels::select_top_k_of_all(of.spans(), 10, scratch),
                         "select_top_k_of_all: value 17 of tensor 2 is NaN", const error&);
    const std::vector<std::int64_t> k{1, 0, 3};
    CHECK_THROWS_WITH_AS(kernels::select_top_k_of_each(of.spans(), k, scratch),
                         "select_top_k_of_each: value 17 of tensor 2 is NaN", const error&);
    // The scratch is as good as before.
    of.values[2][17] = 1e9f;
    CHECK(kernels::select_top_k_of_each(of.spans(), k, scratch)[2].indices.size() == 3);
    const auto found = kernels::select_top_k_of_all(of.spans(), 1, scratch);
    CHECK(found[0].indices.empty());
    REQUIRE(found[2].indices.size() == 1);
    CHECK(found[2].indices[0] == 17);
}

TEST_CASE("what does not fit together is refused") {
    const tensors of = make({10, 20}, false, 5);
    kernels::many_top_k_scratch scratch;
    const std::vector<std::int64_t> one{1}, many{1, 21};
    CHECK_THROWS_WITH_AS(
        kernels::select_top_k_of_each(of.spans(), one, scratch),
        "select_top_k_of_each: the size of k is 1; expected 2, the size of tensors",
        const invalid_option&);
    CHECK_THROWS_WITH_AS(
        kernels::select_top_k_of_each(of.spans(), many, scratch),
        "select_top_k_of_each: k of tensor 1 is 21; expected 0 to 20, the number of values",
        const invalid_option&);
    CHECK_THROWS_WITH_AS(kernels::select_top_k_of_all(of.spans(), 31, scratch),
                         "select_top_k_of_all: k is 31; expected 0 to 30, the number of values",
                         const invalid_option&);
}

#if defined(__linux__) && defined(__LP64__)
TEST_CASE("a tensor of more values than 32 bits can number is refused by its number") {
    // Addresses without memory behind them: refused by its size, it is never read.
    constexpr std::size_t n = (std::size_t{1} << 32) + 1;
    void* const reserved = mmap(nullptr, n * sizeof(float), PROT_READ,
                                MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    REQUIRE(reserved != MAP_FAILED);
    const std::vector<float> few(10, 1.0f);
    const std::span<const float> huge(static_cast<const float*>(reserved), n);
    const std::vector<std::span<const float>> both{few, huge};
    const std::vector<std::int64_t> k{1, 1};
    kernels::many_top_k_scratch scratch;
    CHECK_THROWS_WITH_AS(kernels::select_top_k_of_all(both, 1, scratch),
                         "select_top_k_of_all: there are 4294967297 values of tensor 1; this "
                         "scratch's index type allows 4294967296",
                         const invalid_option&);
    CHECK_THROWS_WITH_AS(kernels::select_top_k_of_each(both, k, scratch),
                         "select_top_k_of_each: there are 4294967297 values of tensor 1; this "
                         "scratch's index type allows 4294967296",
                         const invalid_option&);
    munmap(reserved, n * sizeof(float));
}
#endif
