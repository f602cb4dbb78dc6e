#include "sotto/kernels/detail/update/pushed_step.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cfloat>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <span>
#include <vector>

#include "sotto/core/errors.hpp"
#include "sotto/core/detail/memory/large_pages.hpp"
#include "sotto/kernels/detail/update/updates.hpp"
#include "support/generators.hpp"

namespace kernels = sotto::kernels;
using sotto::testing::normal_values;

namespace {

constexpr float rate = 0.3f;
constexpr sotto::detail::kernels::adaptive_compensation adaptive{.lambda = 2.0f, .decay = 0.9};

/// Floats at an address that is no float's.
std::vector<std::byte> message_of(const std::vector<float>& g) {
    std::vector<std::byte> made(1 + 4 * g.size());
    std::ranges::copy(std::as_bytes(std::span(g)), made.begin() + 1);
    return made;
}

struct arrays {
    std::vector<float> w, g, before, s;
    std::vector<std::byte> message = message_of(g);
    std::span<const std::byte> pushed = std::span<const std::byte>(message).subspan(1);

    explicit arrays(std::size_t n)
        : w(values(n, 1)), g(values(n, 2)), before(values(n, 3)), s(n, 0.5f) {}

    static std::vector<float> values(std::size_t n, std::uint64_t seed) {
        return normal_values(static_cast<std::int64_t>(n), seed);
    }
};

}  // namespace

TEST_CASE("a pushed step has the bits of the step by a copy, wherever it writes") {
    for (const std::size_t n : {0u, 1u, 15u, 16u, 17u, 100u, 1000u, 4099u}) {
        CAPTURE(n);
        const arrays a(n);
        auto plain = a.w, constant = a.w, followed = a.w, squares = a.s;
        sotto::detail::kernels::descend(rate, plain, a.g);
        sotto::detail::kernels::descend_compensated(rate, 0.5f, constant, a.g, a.before);
        sotto::detail::kernels::descend_compensated(rate, adaptive, followed, a.g, a.before,
                                                    squares);

        // 0 begins with a cache line, so that it is written past the caches; 1 does not.
        for (const std::size_t shift : {0u, 1u}) {
            sotto::detail::large_vector<float> room(n + 2, 7.0f);
            const auto next = std::span(room).subspan(shift, n);
            const auto is = [&](const std::vector<float>& expected) {
                return std::ranges::equal(next, expected) && room[shift + n] == 7.0f;
            };
            sotto::detail::kernels::descend_pushed(rate, next, a.w, a.pushed);
            CHECK(is(plain));
            std::ranges::fill(next, 0.0f);
            CHECK(sotto::detail::kernels::descend_pushed_if_finite(rate, next, a.w, a.pushed));
            CHECK(is(plain));
            sotto::detail::kernels::descend_pushed(rate, 0.5f, next, a.w, a.pushed, a.before);
            CHECK(is(constant));
            auto s = a.s;
            sotto::detail::kernels::descend_pushed(rate, adaptive, next, a.w, a.pushed, a.before,
                                                   s);
            CHECK(is(followed));
            CHECK(s == squares);
        }

        auto in_place = a.w, over = a.before, s = a.s;
        sotto::detail::kernels::descend_pushed(rate, in_place, in_place, a.pushed);
        CHECK(in_place == plain);
        sotto::detail::kernels::descend_pushed(rate, adaptive, over, a.w, a.pushed, over, s);
        CHECK(over == followed);
        in_place = a.w;
        s = a.s;
        sotto::detail::kernels::descend_pushed(rate, adaptive, in_place, in_place, a.pushed,
                                               a.before, s);
        CHECK(in_place == followed);
    }
}

TEST_CASE("wherever a pushed gradient is no number, the step says so") {
    const float infinity = std::numeric_limits<float>::infinity();
    for (const std::size_t n : {1u, 16u, 37u, 200u})
        for (std::size_t at = 0; at < n; ++at)
            for (const float bad : {infinity, -infinity, std::nanf(""), FLT_MAX}) {
                arrays a(n);
                std::memcpy(a.message.data() + 1 + sizeof bad * at, &bad, sizeof bad);
                sotto::detail::large_vector<float> next(n);
                CHECK(sotto::detail::kernels::descend_pushed_if_finite(rate, next, a.w, a.pushed) ==
                      (bad == FLT_MAX));
            }
}

TEST_CASE("what does not fit is refused, and nothing changes") {
    const arrays a(20);
    auto w = a.w, s = a.s;
    std::vector<float> few(19);
    CHECK_THROWS_AS(sotto::detail::kernels::descend_pushed(rate, few, w, a.pushed),
                    sotto::invalid_option);
    CHECK_THROWS_AS(sotto::detail::kernels::descend_pushed(rate, w, w, a.pushed.first(76)),
                    sotto::invalid_option);
    CHECK_THROWS_AS(sotto::detail::kernels::descend_pushed(rate, 1.0f, w, w, a.pushed, few),
                    sotto::invalid_option);
    CHECK_THROWS_AS(
        sotto::detail::kernels::descend_pushed(rate, adaptive, w, w, a.pushed, a.before, few),
        sotto::invalid_option);
    CHECK_THROWS_AS(sotto::detail::kernels::descend_pushed(rate, {.epsilon = 0.0f}, w, w, a.pushed,
                                                           a.before, s),
                    sotto::invalid_option);
    CHECK(w == a.w);
    CHECK(s == a.s);
}
