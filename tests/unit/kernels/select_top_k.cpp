#include "sotto/kernels/select_top_k.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <numeric>
#include <string>
#include <vector>

#include "sotto/core/random.hpp"
#include "sotto/kernels/dgc_step.hpp"
#include "support/effort.hpp"
#include "support/generators.hpp"
#include "support/plain_top_k.hpp"

using namespace sotto;
using testing::plain_top_k;

namespace {

void check(std::span<const float> values, std::int64_t k, kernels::top_k_scratch& scratch) {
    const auto found = kernels::select_top_k(values, k, scratch);
    const auto expected = plain_top_k(values, static_cast<std::size_t>(k));
    REQUIRE(std::ranges::equal(found.indices, expected));
    const auto bits = [](float value) { return std::bit_cast<std::uint32_t>(value); };
    const auto bits_at = [&](std::uint32_t i) { return bits(values[i]); };
    REQUIRE(std::ranges::equal(found.values, expected, {}, bits, bits_at));
}

const sotto::detail::kernels::top_k_search& searched(kernels::top_k_scratch& scratch) {
    return sotto::detail::kernels::insides::of(scratch);
}

void check(std::span<const float> values, std::int64_t k) {
    kernels::top_k_scratch scratch;
    check(values, k, scratch);
}

/// Values of a kind that the number tells.
float value_of(int kind, random_stream& random, std::size_t i) {
    switch (kind) {
        case 0: return static_cast<float>(random.normal());
        case 1: return static_cast<float>(random.below(3)) - 1.0f;
        case 2: return random.below(10) > 0 ? 0.0f : static_cast<float>(random.normal());
        case 3: return random.below(2) > 0 ? 1.0f : -1.0f;
        case 4: return static_cast<float>(i);
        case 5: return -1.0f / static_cast<float>(i + 1);
        case 6: return std::ldexp(1.0f, static_cast<int>(random.below(254)) - 126);
        default: {
            // Any bits but those of a NaN: denormals, infinities, both zeros.
            const auto bits = static_cast<std::uint32_t>(random());
            const auto value = std::bit_cast<float>(bits);
            return sotto::detail::kernels::magnitude_of(value) >
                           sotto::detail::kernels::infinity_bits
                       ? std::bit_cast<float>(bits & 0x807FFFFFu)
                       : value;
        }
    }
}

}  // namespace

TEST_CASE("the k largest magnitudes are found exactly, of equals the lower index") {
    for (std::int64_t n = 0; n <= 40; ++n)
        for (std::int64_t k = 0; k <= n; ++k) {
            check(testing::normal_values(n, static_cast<std::uint64_t>(n)), k);
            check(testing::integer_values(n, static_cast<std::uint64_t>(n)), k);
        }
}

TEST_CASE("every length up to four of the widest registers, wherever it begins") {
    kernels::top_k_scratch scratch;
    for (std::int64_t n = 0; n <= 4 * 16 + 1; ++n)
        for (std::size_t start = 0; start < 16; ++start) {
            // Memory of its own size, so that a sanitizer sees a step beyond it.
            std::vector<float> memory(start + static_cast<std::size_t>(n));
            random_stream random(static_cast<std::uint64_t>(n) * 16 + start);
            for (float& value : memory) value = static_cast<float>(random.below(7)) - 3.0f;
            for (const std::int64_t k : {std::int64_t{0}, n / 3, n / 2, n})
                check(std::span(memory).subspan(start), k, scratch);
        }
}

TEST_CASE("random cases agree with a plain sort") {
    random_stream random(11);
    kernels::top_k_scratch scratch;
    std::vector<float> memory;
    for (int trial = 0; trial < testing::tries(100000, 20000); ++trial) {
        const bool large = trial % 2000 == 0;
        const auto n = static_cast<std::size_t>(random.below(large ? 60000 : 120));
        const auto start = static_cast<std::size_t>(random.below(4));
        const auto kind = static_cast<int>(random.below(8));
        memory.resize(start + n);
        for (std::size_t i = start; i < memory.size(); ++i)
            memory[i] = value_of(kind, random, i - start);
        auto k = static_cast<std::int64_t>(random.below(n + 1));
        if (large && random.below(2) > 0) k /= 100;
        check(std::span(memory).subspan(start), k, scratch);
    }
}

TEST_CASE("large inputs of all kinds are exact") {
    constexpr std::size_t n = 150001;
    for (int kind = 0; kind < 8; ++kind) {
        random_stream random(static_cast<std::uint64_t>(kind));
        std::vector<float> values(n);
        for (std::size_t i = 0; i < n; ++i) values[i] = value_of(kind, random, i);
        for (const std::int64_t k : {std::int64_t{1}, std::int64_t{150}, std::int64_t{1500},
                                     std::int64_t{15000}, std::int64_t{140000}, std::int64_t{n}})
            check(values, k);
        std::ranges::reverse(values);
        check(values, 1500);
    }
}

TEST_CASE("values that mislead the sample are exact too") {
    constexpr std::size_t n = 300000;
    const std::size_t lines = sotto::detail::kernels::threshold_sampler::sample_size(n) /
                              sotto::detail::kernels::sample_line;
    std::vector<bool> sampled(n);
    for (std::size_t line = 0; line < lines; ++line) {
        const std::size_t place = sotto::detail::kernels::sample_place(n, lines, line);
        REQUIRE(place + sotto::detail::kernels::sample_line <= n);
        std::fill_n(sampled.begin() + static_cast<std::ptrdiff_t>(place),
                    sotto::detail::kernels::sample_line, true);
    }
    std::vector<float> elsewhere(n), there(n), rising_elsewhere(n), equal_elsewhere(n);
    for (std::size_t i = 0; i < n; ++i) {
        const auto size = static_cast<float>(1 + i % 1000);
        elsewhere[i] = sampled[i] ? 0.001f * size : size;
        there[i] = sampled[i] ? size : 0.001f * size;
        rising_elsewhere[i] = sampled[i] ? 0.0f : static_cast<float>(i);
        equal_elsewhere[i] = sampled[i] ? 1.0f : 2.0f;
    }
    kernels::top_k_scratch scratch;
    check(there, 3000, scratch);
    CHECK(searched(scratch).repeated());
    check(there, 3000, scratch);  // other places are sampled now
    CHECK(!searched(scratch).repeated());
    check(elsewhere, 3000, scratch);
    CHECK(!searched(scratch).repeated());
    for (const std::int64_t k : {std::int64_t{1}, std::int64_t{30}, std::int64_t{3000},
                                 std::int64_t{30000}, std::int64_t{200000}}) {
        // Each in memory of its own: what has misled is not sampled again.
        check(elsewhere, k);
        check(there, k);
        check(rising_elsewhere, k);
        check(equal_elsewhere, k);
    }
}

TEST_CASE("of many equal values only as many are collected as may be needed") {
    constexpr std::size_t n = 400000;
    random_stream random(3);
    std::vector<float> values(n);
    for (float& value : values) value = random.below(10) > 0 ? 0.0f : random.normal();
    kernels::top_k_scratch scratch;
    for (const std::int64_t k : {std::int64_t{39000}, std::int64_t{42000}, std::int64_t{100000}}) {
        check(values, k, scratch);
        CHECK(searched(scratch).collected() < static_cast<std::size_t>(k) + n / 50);
    }
}

TEST_CASE("a scratch serves calls of all kinds, and lives on after it was moved from") {
    constexpr std::size_t n = 300000;
    const std::size_t lines = sotto::detail::kernels::threshold_sampler::sample_size(n) /
                              sotto::detail::kernels::sample_line;
    std::vector<float> misleading(n, 1.0f), velocity(n), accumulated(n);
    for (std::size_t line = 0; line < lines; ++line)
        std::fill_n(misleading.begin() + static_cast<std::ptrdiff_t>(
                                             sotto::detail::kernels::sample_place(n, lines, line)),
                    sotto::detail::kernels::sample_line, 0.0f);
    kernels::top_k_scratch scratch;
    check(misleading, 200000, scratch);
    const auto step = kernels::dgc_step(
        {}, {misleading, velocity, accumulated, velocity, accumulated}, 10, true, scratch);
    CHECK(std::ranges::equal(step.indices, plain_top_k(misleading, 10)));
    CHECK(kernels::select_above(misleading, 0.5f, scratch).indices.size() ==
          n - lines * sotto::detail::kernels::sample_line);
    check(misleading, 30, scratch);
    kernels::top_k_scratch other(std::move(scratch));
    check(misleading, 20, other);
    check(misleading, 40, scratch);
    scratch = std::move(other);
    check(misleading, 50, scratch);
    check(misleading, 60, other);
}

TEST_CASE("room for what cannot be is refused") {
    kernels::top_k_scratch scratch;
    kernels::wide_top_k_scratch wide;
    // Not constants: compilers would warn of them.
    const volatile std::int64_t minus_one = -1, minus_ten = -10;
    CHECK_THROWS_WITH_AS(scratch.reserve(minus_ten, minus_one),
                         "top_k_scratch::reserve: n is -10; expected 0 to 4294967296",
                         const invalid_option&);
    CHECK_THROWS_WITH_AS(scratch.reserve(10, 11),
                         "top_k_scratch::reserve: k is 11; expected 0 to 10, the number of values",
                         const invalid_option&);
    CHECK_THROWS_WITH_AS(
        scratch.reserve_step(10, minus_one),
        "top_k_scratch::reserve_step: k is -1; expected 0 to 10, the number of values",
        const invalid_option&);
    CHECK_THROWS_WITH_AS(wide.reserve((std::int64_t{1} << 40) + 1, 5),
                         "wide_top_k_scratch::reserve: there are 1099511627777 values; this "
                         "scratch's index type allows 1099511627776",
                         const invalid_option&);
    CHECK_THROWS_AS(wide.reserve(100, minus_one), const invalid_option&);
}

TEST_CASE("a NaN is refused by its place, or is larger than infinity") {
    kernels::top_k_scratch scratch;
    for (const std::int64_t n : {100, 40000}) {
        auto values = testing::normal_values(n, 3);
        const std::size_t last = static_cast<std::size_t>(n) - 3;
        values[last] = -std::numeric_limits<float>::quiet_NaN();
        values[7] = std::numeric_limits<float>::infinity();
        try {
            kernels::select_top_k(values, 2, scratch);
            FAIL("accepted");
        } catch (const error& refused) {
            CHECK(refused.code() == errc::non_finite);
            CHECK(std::string(refused.what()).find("value " + std::to_string(last) + " is NaN") !=
                  std::string::npos);
        }
        const auto one = kernels::select_top_k(values, 1, scratch, kernels::nan_policy::largest);
        CHECK(one.indices[0] == last);
        const auto two = kernels::select_top_k(values, 2, scratch, kernels::nan_policy::largest);
        CHECK(two.indices[0] == 7);
        CHECK(two.indices[1] == last);
    }
    // None of the magnitudes is above the largest NaN's.
    const std::vector<float> all(30000, std::bit_cast<float>(0xFFFFFFFFu));
    const auto found = kernels::select_top_k(all, 50, scratch, kernels::nan_policy::largest);
    CHECK(found.indices.front() == 0);
    CHECK(found.indices.back() == 49);
}

TEST_CASE("a carried threshold changes nothing but the time") {
    kernels::top_k_scratch scratch;
    detail::kernels::carried_threshold carried;
    for (int step = 0; step < 40; ++step) {
        auto values = testing::normal_values(50000, static_cast<std::uint64_t>(step));
        // Drift, jumps both ways, all zero, and k that changes.
        const float scale = step == 20   ? 100.0f
                            : step == 25 ? 0.0f
                                         : 1.0f + 0.1f * static_cast<float>(step);
        for (float& value : values) value *= scale;
        const std::int64_t k = step % 10 == 9 ? 5000 : 50;
        const auto expected = plain_top_k(values, static_cast<std::size_t>(k));
        const auto found = kernels::select_top_k(values, k, scratch, carried);
        CHECK(std::ranges::equal(found.indices, expected));
    }
}

TEST_CASE("a carried threshold lets few others through, where values stay alike") {
    kernels::top_k_scratch scratch;
    detail::kernels::carried_threshold carried;
    constexpr std::int64_t n = 200000, k = 2000;
    for (int step = 0; step < 30; ++step) {
        const auto values = testing::normal_values(n, static_cast<std::uint64_t>(step));
        kernels::select_top_k(values, k, scratch, carried);
    }
    CHECK(searched(scratch).collected() < 5 * k / 4);
    kernels::select_top_k(testing::normal_values(n, 99), k, scratch);
    CHECK(searched(scratch).collected() > 5 * k / 4);
}

TEST_CASE("everything above a limit is found") {
    kernels::top_k_scratch scratch;
    for (const std::int64_t n : {0, 5, 63, 64, 65, 1000, 100000, 200003}) {
        const auto values = testing::normal_values(n, 5);
        for (const float limit : {0.0f, 0.5f, 2.0f, 3.5f, 1e9f}) {
            std::vector<std::uint32_t> expected;
            for (std::size_t i = 0; i < values.size(); ++i)
                if (std::abs(values[i]) >= limit) expected.push_back(static_cast<unsigned>(i));
            const auto found = kernels::select_above(values, limit, scratch);
            REQUIRE(std::ranges::equal(found.indices, expected));
            for (std::size_t i = 0; i < expected.size(); ++i)
                REQUIRE(found.values[i] == values[expected[i]]);
        }
    }
    const std::vector<float> two{-0.0f, 3.0f};
    CHECK(kernels::select_above(two, -0.0f, scratch).indices.size() == 2);
    CHECK_THROWS_WITH_AS(kernels::select_above(two, -1e-9f, scratch),
                         "select_above: limit is -1e-09; expected at least 0",
                         const invalid_option&);
    CHECK_THROWS_WITH_AS(
        kernels::select_above(two, std::numeric_limits<float>::quiet_NaN(), scratch),
        "select_above: limit is nan; expected at least 0", const invalid_option&);
}

TEST_CASE("64-bit indices are the same numbers") {
    kernels::wide_top_k_scratch wide;
    kernels::top_k_scratch scratch;
    for (const std::int64_t n : {0, 10, 70000}) {
        const auto values = testing::integer_values(n, 9);
        for (const std::int64_t k : {std::int64_t{0}, n / 10, n}) {
            const auto expected = kernels::select_top_k(values, k, scratch);
            const auto found = kernels::select_top_k(values, k, wide);
            CHECK(std::ranges::equal(found.indices, expected.indices));
            CHECK(std::ranges::equal(found.values, expected.values));
        }
    }
}

TEST_CASE("k outside of 0 to n is refused") {
    kernels::top_k_scratch scratch;
    const std::vector<float> values(10, 1.0f);
    CHECK_THROWS_WITH_AS(kernels::select_top_k(values, 11, scratch),
                         "select_top_k: k is 11; expected 0 to 10, the number of values",
                         const invalid_option&);
    CHECK_THROWS_WITH_AS(kernels::select_top_k(values, -1, scratch),
                         "select_top_k: k is -1; expected 0 to 10, the number of values",
                         const invalid_option&);
    kernels::wide_top_k_scratch wide;
    CHECK_THROWS_WITH_AS(kernels::select_top_k(values, 11, wide),
                         "select_top_k: k is 11; expected 0 to 10, the number of values",
                         const invalid_option&);
}

TEST_CASE("after calls that threw a scratch selects as before") {
    kernels::top_k_scratch scratch;
    kernels::wide_top_k_scratch wide;
    detail::kernels::carried_threshold carried;
    const auto values = testing::normal_values(70000, 1);
    auto with_nan = values;
    with_nan[69000] = std::numeric_limits<float>::quiet_NaN();
    const auto expected = plain_top_k(values, 700);
    for (int round = 0; round < 3; ++round) {
        CHECK_THROWS_AS(kernels::select_top_k(with_nan, 700, scratch), const error&);
        check(values, 700, scratch);
        CHECK_THROWS_AS(kernels::select_top_k(values, 70001, scratch), const invalid_option&);
        check(values, 700, scratch);
        CHECK_THROWS_AS(kernels::select_top_k(with_nan, 700, scratch, carried), const error&);
        const auto found = kernels::select_top_k(values, 700, scratch, carried);
        CHECK(std::ranges::equal(found.indices, expected));
        CHECK_THROWS_AS(kernels::select_top_k(with_nan, 700, wide), const error&);
        CHECK(std::ranges::equal(kernels::select_top_k(values, 700, wide).indices, expected));
    }
}

TEST_CASE("a copied scratch has room and nothing else") {
    kernels::top_k_scratch scratch;
    const auto values = testing::normal_values(20000, 1);
    check(values, 20, scratch);
    kernels::top_k_scratch copy(scratch);
    check(values, 40, copy);
    scratch = copy;
    check(values, 60, scratch);
}
