#include "sotto/core/random.hpp"

#include <doctest/doctest.h>

#include <array>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <set>

using sotto::random_stream;

TEST_CASE("a stream repeats from its seed and differs between seeds") {
    random_stream a(7), b(7), c(8);
    int equal = 0;
    for (int i = 0; i < 1000; ++i) {
        const auto x = a();
        CHECK(x == b());
        equal += x == c();
    }
    CHECK(equal < 3);
}

TEST_CASE("the bits are pinned: the same on every compiler") {
    random_stream stream(0);
    // Philox4x32-10 of counter 0 and key 0, as in the reference implementation's known answers.
    CHECK(stream() == 0x6627e8d5u);
    CHECK(stream() == 0xe169c58du);
    CHECK(stream() == 0xbc57ac4cu);
    CHECK(stream() == 0x9b00dbd8u);
    static_assert(random_stream(0).split("data").key() == random_stream(0).split("data").key());
    static_assert(random_stream(0).split("data").key() != random_stream(0).split("date").key());
}

TEST_CASE("splits do not depend on how much of their parent was drawn") {
    random_stream parent(3);
    const auto before = parent.split("a").key();
    parent();
    CHECK(parent.split("a").key() == before);
}

TEST_CASE("seeking lands where drawing arrives") {
    for (std::uint64_t position : {0u, 1u, 3u, 4u, 5u, 1000u}) {
        random_stream drawn(5), sought(5);
        for (std::uint64_t i = 0; i < position; ++i) drawn();
        sought.seek(position);
        CHECK(drawn.position() == sought.position());
        for (int i = 0; i < 9; ++i) CHECK(drawn() == sought());
    }
}

TEST_CASE("below is in range and even") {
    random_stream stream(11);
    std::array<int, 7> counts{};
    for (int i = 0; i < 70000; ++i) ++counts[stream.below(7)];
    for (const int count : counts) CHECK(std::abs(count - 10000) < 500);  // 5 standard deviations
    CHECK(stream.below(1) == 0);
}

TEST_CASE("uniform and normal have their moments") {
    random_stream stream(13);
    double sum = 0, squares = 0, normal_sum = 0, normal_squares = 0, fourth = 0;
    constexpr int n = 200000;
    for (int i = 0; i < n; ++i) {
        const double u = stream.uniform(), z = stream.normal();
        CHECK_UNARY(u >= 0.0 && u < 1.0);
        sum += u, squares += u * u, normal_sum += z, normal_squares += z * z,
            fourth += z * z * z * z;
    }
    CHECK(sum / n == doctest::Approx(0.5).epsilon(0.01));
    CHECK(squares / n == doctest::Approx(1.0 / 3).epsilon(0.01));
    CHECK(std::abs(normal_sum / n) < 0.01);
    CHECK(normal_squares / n == doctest::Approx(1.0).epsilon(0.015));
    CHECK(fourth / n == doctest::Approx(3.0).epsilon(0.04));
}

TEST_CASE("uniform: the largest part of a narrow interval -> below its end") {
    random_stream stream(1);
    stream.seek(25'275'781);  // a word whose upper 24 bits are all set
    CHECK(random_stream(stream).uniform() == 0x0.ffffffp0f);
    const auto drawn = [&](float low, float high) {
        const float found = random_stream(stream).uniform(low, high);
        CHECK(found >= low);
        CHECK(found < high);
        return found;
    };
    CHECK(drawn(1.0f, 2.0f) == std::nextafter(2.0f, 1.0f));
    CHECK(drawn(-2.0f, -1.0f) == std::nextafter(-1.0f, -2.0f));
    CHECK(drawn(-1.0f, 0.0f) == -0x1p-24f);
    CHECK(drawn(16777215.0f, 16777216.0f) == 16777215.0f);
    constexpr float least = std::numeric_limits<float>::denorm_min();
    CHECK(drawn(0.0f, least) == 0.0f);
    CHECK(drawn(-least, 0.0f) == -least);
    CHECK(drawn(-0.0f, least) == 0.0f);
    constexpr float most = std::numeric_limits<float>::max();
    CHECK(drawn(-most, most) == most * 0x0.fffffep0f);
    CHECK(drawn(-1e38f, most) > 3.4e38f);
    CHECK(random_stream(stream).uniform(3.0f, 3.0f) == 3.0f);
}

TEST_CASE("uniform: wide intervals -> every draw is finite and in range") {
    constexpr float most = std::numeric_limits<float>::max();
    random_stream stream(17);
    double sum = 0.0;
    for (int i = 0; i < 10000; ++i) {
        const float x = stream.uniform(-most, most);
        CHECK_UNARY(x >= -most && x < most);
        sum += static_cast<double>(x) / static_cast<double>(most);
    }
    CHECK(std::abs(sum / 10000) < 0.03);  // 5 standard deviations
}

TEST_CASE("uniform: any interval -> product and sum are rounded apart, as pinned") {
    random_stream of_bounds(5), drawn(6), expected(6);
    std::uint64_t digest = 0xcbf29ce484222325u;
    for (int i = 0; i < 10000; ++i) {
        const float low = of_bounds.normal(), high = low + std::abs(of_bounds.normal()) + 0.25f;
        const float found = drawn.uniform(low, high);
        const volatile float product = (high - low) * expected.uniform();
        CHECK(found == low + product);
        digest = (digest ^ std::bit_cast<std::uint32_t>(found)) * 0x100000001b3u;
    }
    CHECK(digest == 7680493220121565664u);
}

TEST_CASE("random: below a bound that does not divide 2^64 -> without bias") {
    // Without rejection every third of 3 x 2^62 values would come twice as often as the others.
    random_stream random(7);
    int thirds = 0;
    for (int i = 0; i < 3000; ++i) thirds += random.below(std::uint64_t{3} << 62) % 3 == 0;
    CHECK(thirds > 850);
    CHECK(thirds < 1150);
}
