#include "sotto/kernels/detail/simd/run_on.hpp"
#include "sotto/kernels/sparse_add.hpp"

#include <doctest/doctest.h>

#include <cstdint>
#include <string>
#include <vector>

#include "sotto/core/errors.hpp"
#include "sotto/core/random.hpp"
#include "support/generators.hpp"
#include "support/lanes.hpp"

namespace kernels = sotto::kernels;
using sotto::detail::kernels::sparse_values;

namespace {

struct message {
    std::vector<std::uint32_t> indices;
    std::vector<float> values;

    operator sotto::detail::kernels::sparse_values() const { return {indices, values}; }
};

// Some indices come more than once.
message made_up(std::size_t entries, std::size_t size, std::uint64_t seed) {
    sotto::random_stream random(seed);
    message made;
    for (std::size_t j = 0; j < entries; ++j) {
        made.indices.push_back(static_cast<std::uint32_t>(random.below(size)));
        made.values.push_back(random.normal());
    }
    return made;
}

}  // namespace

TEST_CASE("messages are added entry by entry, one after the other") {
    for (const std::size_t size : {1u, 10u, 1000u})
        for (const std::size_t entries : {0u, 1u, 31u, 32u, 33u, 500u}) {
            const auto before = sotto::testing::normal_values(static_cast<std::int64_t>(size), 1);
            const message first = made_up(entries, size, 2), second = made_up(7, size, 3);
            auto expected = before, together = before, apart = before;
            for (const message* m : {&first, &second})
                for (std::size_t j = 0; j < m->indices.size(); ++j)
                    expected[m->indices[j]] += m->values[j];
            kernels::add_sparse(together,
                                std::vector<sotto::detail::kernels::sparse_values>{first, second});
            CHECK(together == expected);
            kernels::add_sparse(apart, first);
            kernels::add_sparse(apart, second);
            CHECK(apart == expected);
        }
}

TEST_CASE("no message, and an empty one for an empty vector, add nothing") {
    std::vector<float> sum(3, 1.0f), none;
    kernels::add_sparse(sum, std::vector<sotto::detail::kernels::sparse_values>{});
    CHECK(sum == std::vector<float>(3, 1.0f));
    kernels::add_sparse(none, sotto::detail::kernels::sparse_values{});
    kernels::add_sparse(sum, {});
    CHECK(sum == std::vector<float>(3, 1.0f));
    const message one{{1}, {2.0f}};
    kernels::add_sparse(sum, {one, one});
    CHECK(sum == std::vector<float>{1.0f, 5.0f, 1.0f});
}

TEST_CASE("an index beyond the vector is refused by its position before anything is added") {
    const message good = made_up(50, 100, 1);
    for (const std::size_t at : {0u, 1u, 15u, 16u, 40u, 49u})
        for (const std::uint32_t index : {100u, 0x80000000u, 0xFFFFFFFFu}) {
            message bad = made_up(50, 100, 2);
            bad.indices[at] = index;
            bad.indices.back() = index;
            std::vector<float> sum(100, 1.0f);
            const auto text = "add_sparse: entry " + std::to_string(at) +
                              " of message 1 has index " + std::to_string(index) +
                              "; expected less than 100, the size of the sum";
            CHECK_THROWS_WITH_AS(
                kernels::add_sparse(
                    sum, std::vector<sotto::detail::kernels::sparse_values>{good, bad, good}),
                text.c_str(), sotto::invalid_option);
            CHECK(sum == std::vector<float>(100, 1.0f));
        }
    std::vector<float> none;
    CHECK_THROWS_AS(kernels::add_sparse(none, message{{0}, {1.0f}}), sotto::invalid_option);
}

TEST_CASE("a message needs a value for every index") {
    std::vector<float> sum(10, 1.0f);
    const message good{{1}, {1.0f}};
    CHECK_THROWS_WITH_AS(kernels::add_sparse(sum, {good, message{{1, 2}, {1.0f}}}),
                         "add_sparse: message 1 has 2 indices and 1 values; expected a value for "
                         "every index",
                         sotto::invalid_option);
    CHECK_THROWS_AS(kernels::add_sparse(sum, message{{1}, {1.0f, 2.0f}}), sotto::invalid_option);
    CHECK(sum == std::vector<float>(10, 1.0f));
}

TEST_CASE("the largest index is found on every set, at every length and place") {
    sotto::random_stream random(5);
    std::vector<std::uint32_t> indices(80);
    for (auto& index : indices) index = random() >> 1;
    sotto::testing::on_every_set([&](sotto::detail::kernels::instruction_set set) {
        sotto::testing::at_every_length([&](std::size_t n, std::size_t shift) {
            for (std::size_t at = 0; at < n; at += 5) {
                auto copy = indices;
                copy[shift + at] = 0xFFFFFFF0u;
                const std::uint32_t* from = copy.data() + shift;
                CHECK(sotto::detail::kernels::run_widest<sotto::detail::kernels::largest_index>(
                          from, n) == 0xFFFFFFF0u);
                CHECK(sotto::detail::kernels::run_on<sotto::detail::kernels::largest_index>(
                          set, from, n) == 0xFFFFFFF0u);
            }
        });
    });
}
