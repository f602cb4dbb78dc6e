#include "sotto/kernels/detail/quantise/quantise.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <span>
#include <utility>
#include <vector>

#include "sotto/core/errors.hpp"
#include "sotto/core/random.hpp"
#include "sotto/kernels/instruction_set.hpp"
#include "support/generators.hpp"
#include "support/lanes.hpp"

namespace kernels = sotto::kernels;
using sotto::detail::kernels::instruction_set;
using sotto::detail::kernels::quantisation;
using sotto::detail::kernels::rounding;
using sotto::testing::at_every_length;
using sotto::testing::on_every_set;
using sotto::testing::same_values;
using sotto::testing::uneven_values;

namespace {

using bytes = std::vector<std::uint8_t>;
using floats = std::vector<float>;

struct message {
    floats scales;
    bytes codes;
    floats residual;
};

bool same(const message& a, const message& b) {
    return same_values(a.scales, b.scales) && a.codes == b.codes &&
           same_values(a.residual, b.residual);
}

floats normal_values(std::size_t n, std::uint64_t seed) {
    return sotto::testing::normal_values(static_cast<std::int64_t>(n), seed);
}

std::uint32_t random_word(std::uint64_t seed, std::uint64_t index) {
    const std::uint64_t counter = index / 32 * 16 + index % 16;
    auto word = static_cast<std::uint32_t>(counter);
    sotto::detail::kernels::to_random_words(sotto::detail::kernels::key_of_counters(seed, counter),
                                            word);
    return index / 16 % 2 != 0 ? std::rotl(word, 16) : word;
}

template <int Bits>
SOTTO_UNFUSED float decoded(int code, float scale) {
    SOTTO_UNFUSED_BODY
    constexpr int largest = (1 << (Bits - 1)) - 1;
    const float level = static_cast<float>(code) * (1.0f / largest);
    return level * scale;
}

template <int Bits>
SOTTO_UNFUSED float left_of(float value, int code, float scale) {
    SOTTO_UNFUSED_BODY
    const float received = decoded<Bits>(code, scale);
    return value - received;
}

// The quotient, rounded, of which no scale makes more than largest * unit.
float plain_factor(float scale, float largest, float unit) {
    if (scale < 0x1p-96f) return 0.0f;
    auto factor = static_cast<float>(double{largest} / double{scale} * double{unit});
    while (scale * factor > largest * unit) factor = std::nextafter(factor, 0.0f);
    return factor;
}

template <int Bits>
int plain_code(const sotto::detail::kernels::quantisation& how, std::uint64_t index, float value,
               float scale) {
    constexpr int largest = (1 << (Bits - 1)) - 1;
    if (how.round == sotto::detail::kernels::rounding::nearest) {
        const float y = value * plain_factor(scale, largest, 256.0f);
        return static_cast<int>(std::nearbyint(y / 256.0f));
    }
    const float unit = std::ldexp(1.0f, 32 - Bits);
    const float y = value * plain_factor(scale, largest, unit);
    const std::uint32_t random = random_word(how.seed, index) & ((1u << (32 - Bits)) - 1);
    return static_cast<int>((static_cast<std::int64_t>(y) + random) >> (32 - Bits));
}

template <int Bits>
int code_of(const sotto::detail::kernels::quantisation& how, std::uint64_t index, float value,
            float scale) {
    const int code = plain_code<Bits>(how, index, value, scale);
    REQUIRE(std::abs(code) < 1 << (Bits - 1));
    return code;
}

// One value after the other; no residual: without error feedback.
template <int Bits>
message plain(const sotto::detail::kernels::quantisation& how, std::span<const float> x,
              floats residual) {
    const bool feedback = !residual.empty();
    message out{
        {}, bytes(sotto::detail::kernels::bytes_of_codes(x.size(), Bits)), std::move(residual)};
    for (std::size_t start = 0; start < x.size(); start += how.block) {
        const std::size_t end = std::min(start + how.block, x.size());
        const auto value = [&](std::size_t i) { return feedback ? x[i] + out.residual[i] : x[i]; };
        float scale = 0.0f;
        bool nan = false;
        for (std::size_t i = start; i < end; ++i) {
            nan |= std::isnan(value(i));
            scale = std::max(scale, std::abs(value(i)));
        }
        if (nan) scale = std::nanf("");
        if (scale < 0x1p-96f) scale = 0.0f;
        out.scales.push_back(scale);
        for (std::size_t i = start; i < end; ++i) {
            const int code =
                std::isfinite(scale) ? code_of<Bits>(how, how.first + i, value(i), scale) : 0;
            const unsigned bits = static_cast<unsigned>(code) & ((1u << Bits) - 1);
            out.codes[i * Bits / 8] |= static_cast<std::uint8_t>(bits << i * Bits % 8);
            if (feedback) out.residual[i] = left_of<Bits>(value(i), code, scale);
        }
    }
    return out;
}

// By a kernel, with bytes and scales in the midst of others, which have to stay.
template <int Bits, bool Stochastic, bool Feedback>
message by_kernel(instruction_set set, const sotto::detail::kernels::quantisation& how,
                  std::span<const float> x, floats residual, std::size_t shift) {
    const std::size_t blocks = sotto::detail::kernels::blocks_of(x.size(), how.block);
    bytes codes(sotto::detail::kernels::bytes_of_codes(x.size(), Bits) + shift + 64, 0xa5);
    floats scales(blocks + 2, 7.0f);
    const sotto::detail::kernels::blocks_to_encode all{
        x.data(), residual.data(), x.size(),          how.block,
        how.seed, how.first,       scales.data() + 1, codes.data() + shift};
    sotto::detail::kernels::run_unfused<
        sotto::detail::kernels::quantise_blocks<Bits, Stochastic, Feedback>>(set, all);
    CHECK(scales.front() == 7.0f);
    CHECK(scales.back() == 7.0f);
    const auto end = codes.end() - 64;
    CHECK(std::all_of(codes.begin(), codes.begin() + static_cast<std::ptrdiff_t>(shift),
                      [](int b) { return b == 0xa5; }));
    CHECK(std::all_of(end, codes.end(), [](int b) { return b == 0xa5; }));
    return {floats(scales.begin() + 1, scales.end() - 1),
            bytes(codes.begin() + static_cast<std::ptrdiff_t>(shift), end), std::move(residual)};
}

template <int Bits>
void equals_plain(const sotto::detail::kernels::quantisation& how, std::span<const float> x,
                  const floats& residual, std::size_t shift) {
    const message expected = plain<Bits>(how, x, {}), kept = plain<Bits>(how, x, residual);
    bool all_same = true;
    on_every_set([&](instruction_set set) {
        if (how.round == sotto::detail::kernels::rounding::nearest) {
            all_same &= same(by_kernel<Bits, false, false>(set, how, x, {}, shift), expected);
            all_same &= same(by_kernel<Bits, false, true>(set, how, x, residual, shift), kept);
        } else {
            all_same &= same(by_kernel<Bits, true, false>(set, how, x, {}, shift), expected);
            all_same &= same(by_kernel<Bits, true, true>(set, how, x, residual, shift), kept);
        }
    });
    CHECK(all_same);
}

void equals_plain(std::span<const float> x, const floats& residual, std::size_t shift) {
    sotto::detail::kernels::quantisation how{
        .block = 256, .seed = x.size(), .first = 256 * x.size()};
    for (const auto kind : {sotto::detail::kernels::rounding::nearest,
                            sotto::detail::kernels::rounding::stochastic}) {
        how.round = kind;
        equals_plain<8>(how, x, residual, shift);
        equals_plain<4>(how, x, residual, shift);
        equals_plain<2>(how, x, residual, shift);
    }
}

template <int Bits>
message sent(const sotto::detail::kernels::quantisation& how, std::span<const float> x) {
    message out{floats(sotto::detail::kernels::blocks_of(x.size(), how.block)),
                bytes(sotto::detail::kernels::bytes_of_codes(x.size(), Bits)),
                {}};
    sotto::detail::kernels::quantise<Bits>(how, x, out.scales, out.codes);
    return out;
}

template <int Bits>
floats received(std::size_t block, const message& from, std::size_t n) {
    floats x(n, 9.0f);
    sotto::detail::kernels::dequantise<Bits>(block, from.scales, from.codes, x);
    return x;
}

void with_every_width(auto&& f) {
    f.template operator()<8>();
    f.template operator()<4>();
    f.template operator()<2>();
}

}  // namespace

TEST_CASE("quantise gives the bits of a plain loop on every set, at every length") {
    at_every_length([](std::size_t n, std::size_t shift) {
        if (n == 0) return;
        const floats x = normal_values(n + shift, n), residual = normal_values(n, n + 1);
        equals_plain(std::span(x).subspan(shift), residual, shift);
    });
    for (const std::size_t n : {255u, 256u, 257u, 700u, 1024u, 1337u}) {
        const floats x = uneven_values(n, n);
        floats residual = normal_values(n, n + 1);
        equals_plain(x, residual, 1);
    }
}

TEST_CASE("blocks of several chunks in a row have the bits of a plain loop") {
    constexpr std::size_t block = 2 * sotto::detail::kernels::values_in_chunk, n = 3 * block + 77;
    const floats x = normal_values(n, 31), residual = normal_values(n, 32);
    with_every_width([&]<int Bits>() {
        for (const auto kind : {sotto::detail::kernels::rounding::nearest,
                                sotto::detail::kernels::rounding::stochastic})
            equals_plain<Bits>({.block = block, .round = kind, .seed = 33, .first = 5 * block}, x,
                               residual, 1);
    });
}

TEST_CASE("dequantise gives the bits of a plain loop on every set, at every length") {
    with_every_width([]<int Bits>() {
        const auto check = [](std::size_t n, std::size_t shift) {
            sotto::random_stream random(n);
            bytes codes(sotto::detail::kernels::bytes_of_codes(n, Bits));
            for (auto& byte : codes) byte = static_cast<std::uint8_t>(random());
            floats scales = normal_values(sotto::detail::kernels::blocks_of(n, 256), n);
            const floats before = normal_values(n + shift + 20, n + 2);
            floats written = before, added = before;
            for (std::size_t i = 0; i < n; ++i) {
                int code = codes[i * Bits / 8] >> i * Bits % 8 & ((1 << Bits) - 1);
                if (code >= 1 << (Bits - 1)) code -= 1 << Bits;
                written[shift + i] = decoded<Bits>(code, scales[i / 256]);
                added[shift + i] += written[shift + i];
            }
            on_every_set([&](instruction_set set) {
                floats found = before, sum = before;
                sotto::detail::kernels::run_unfused<
                    sotto::detail::kernels::dequantise_blocks<Bits, false>>(
                    set, scales.data(), codes.data(), found.data() + shift, n, std::size_t{256});
                sotto::detail::kernels::run_unfused<
                    sotto::detail::kernels::dequantise_blocks<Bits, true>>(
                    set, scales.data(), codes.data(), sum.data() + shift, n, std::size_t{256});
                CHECK(same_values(found, written));
                CHECK(same_values(sum, added));
            });
        };
        at_every_length(check);
        for (const std::size_t n : {255u, 257u, 1000u}) check(n, 1);
    });
}

TEST_CASE("quantised values are off by at most half a step, or a whole one at random") {
    with_every_width([]<int Bits>() {
        constexpr float largest = (1 << (Bits - 1)) - 1;
        floats x = normal_values(5000, 3);
        for (std::size_t i = 0; i < x.size(); ++i) x[i] *= std::exp2(static_cast<float>(i / 100));
        for (const auto kind : {sotto::detail::kernels::rounding::nearest,
                                sotto::detail::kernels::rounding::stochastic}) {
            const sotto::detail::kernels::quantisation how{.block = 512, .round = kind, .seed = 5};
            const message m = sent<Bits>(how, x);
            const floats y = received<Bits>(how.block, m, x.size());
            for (std::size_t i = 0; i < x.size(); ++i) {
                const float scale = m.scales[i / how.block], step = scale / largest;
                const float bound =
                    kind == sotto::detail::kernels::rounding::nearest ? 0.5f * step : step;
                CHECK(std::abs(y[i] - x[i]) <= bound + 0x1p-22f * scale);
                if (kind == sotto::detail::kernels::rounding::nearest && std::abs(x[i]) == scale)
                    CHECK(y[i] == x[i]);
            }
        }
    });
}

TEST_CASE("no scale times its factor goes beyond the largest code") {
    // One step further, and the code of the largest value would have the other sign.
    sotto::random_stream random(6);
    bool below = true, near = true;
    for (int draw = 0; draw < 100'000; ++draw) {
        const int exponent = draw % 224 - 96;  // every binade of scales
        const float scale =
            std::ldexp(1.0f + static_cast<float>(random() >> 9) * 0x1p-23f, exponent);
        for (const auto& [largest, fixed_point] :
             {std::pair{127.0f, 0x1p24f}, {7.0f, 0x1p28f}, {1.0f, 0x1p30f}})
            for (const float unit : {fixed_point, 256.0f}) {
                const float factor = sotto::detail::kernels::code_factor(scale, largest, unit);
                below &= scale * factor <= largest * unit;
                near &= scale * factor >= largest * unit * (1.0f - 0x1p-22f);
            }
    }
    CHECK(below);
    CHECK(near);
}

TEST_CASE("quantise rounds to nearest with ties to even") {
    const floats x{7.0f, 0.5f, 1.5f, 2.5f, 3.5f, -0.5f, -1.5f, -2.5f, -7.0f, 6.5f};
    const message m = sent<4>({.block = 256}, x);
    CHECK(m.scales == floats{7.0f});
    CHECK(m.codes == bytes{0x07, 0x22, 0x04, 0xee, 0x69});
}

TEST_CASE("quantised bytes") {
    const floats x{1.0f, -1.0f, 0.26f, -0.74f, 0.0f, 0.5f, -0.1f};
    CHECK(sent<8>({.block = 256}, x).codes == bytes{127, 129, 33, 162, 0, 64, 243});
    CHECK(sent<4>({.block = 256}, x).codes == bytes{0x97, 0xb2, 0x40, 0x0f});
    CHECK(sent<2>({.block = 256}, x).codes == bytes{0b11001101, 0b00000000});
    const sotto::detail::kernels::quantisation how{
        .block = 256,
        .round = sotto::detail::kernels::rounding::stochastic,
        .seed = 1,
        .first = 512};
    CHECK(sent<8>(how, x).codes == bytes{127, 129, 33, 162, 0, 64, 243});
    CHECK(sent<4>(how, x).codes == bytes{151, 178, 64, 0});
    CHECK(sent<2>(how, x).codes == bytes{13, 0});
}

TEST_CASE("stochastic rounding has the value as its mean") {
    // Each draw has variance step^2 p (1 - p); five standard deviations of the mean of all draws.
    with_every_width([]<int Bits>() {
        constexpr float largest = (1 << (Bits - 1)) - 1;
        constexpr int draws = 4096;
        floats x = normal_values(256, 11);
        x[0] = 4.0f;
        x[1] = 4.0f / largest * 0x1p-9f;  // far below a step
        std::vector<double> sums(x.size());
        floats y(x.size());
        float scale = 0.0f;
        for (std::uint64_t seed = 0; seed < draws; ++seed) {
            const message m = sent<Bits>(
                {.block = 256, .round = sotto::detail::kernels::rounding::stochastic, .seed = seed},
                x);
            sotto::detail::kernels::dequantise<Bits>(256, m.scales, m.codes, y);
            for (std::size_t i = 0; i < x.size(); ++i) sums[i] += double{y[i]};
            scale = m.scales[0];
        }
        const double step = double{scale} / double{largest};
        for (std::size_t i = 0; i < x.size(); ++i) {
            const double position = double{x[i]} / step, p = position - std::floor(position);
            const double deviation = step * std::sqrt(p * (1.0 - p) / draws);
            CHECK(std::abs(sums[i] / draws - double{x[i]}) <= 5.0 * deviation + 1e-6 * step);
        }
    });
}

TEST_CASE("random bits of neighbours, of both users of a word, and of seeds do not depend") {
    // Fair coins: of n products of two, the sum has variance n.
    constexpr std::size_t n = 1 << 16;
    floats x(n, 0.5f);
    for (std::size_t i = 0; i < n; i += 256) x[i] = 1.0f;
    const auto coins = [&](std::uint64_t seed) {
        const sotto::detail::kernels::quantisation how{
            .block = 256, .round = sotto::detail::kernels::rounding::stochastic, .seed = seed};
        floats y = received<2>(256, sent<2>(how, x), n);
        for (std::size_t i = 0; i < n; ++i) y[i] = i % 256 == 0 ? 0.0f : 2.0f * y[i] - 1.0f;
        return y;
    };
    const floats first = coins(1);
    const auto product = [&](std::span<const float> a, std::span<const float> b) {
        double sum = 0.0;
        for (std::size_t i = 0; i < std::min(a.size(), b.size()); ++i)
            sum += double{a[i]} * double{b[i]};
        return std::abs(sum) / std::sqrt(static_cast<double>(n));
    };
    for (std::size_t lag = 1; lag <= 64; ++lag)
        CHECK(product(std::span(first).subspan(lag), first) < 4.5);
    for (std::uint64_t seed = 2; seed < 40; ++seed) CHECK(product(coins(seed), first) < 4.5);
}

TEST_CASE("a message quantised in parts has the bytes of the whole") {
    const floats x = normal_values(4000, 21);
    const std::uint64_t far = std::uint64_t{1} << 33;
    const sotto::detail::kernels::quantisation how{
        .block = 256,
        .round = sotto::detail::kernels::rounding::stochastic,
        .seed = 9,
        .first = far - 512};
    const message whole = sent<4>(how, x);
    message joined;
    for (const auto& [from, to] : {std::pair{0, 768}, {768, 1024}, {1024, 4000}}) {
        sotto::detail::kernels::quantisation part = how;
        part.first += static_cast<std::uint64_t>(from);
        const auto values = std::span(x).subspan(static_cast<std::size_t>(from),
                                                 static_cast<std::size_t>(to - from));
        const message m = sent<4>(part, values);
        joined.scales.insert(joined.scales.end(), m.scales.begin(), m.scales.end());
        joined.codes.insert(joined.codes.end(), m.codes.begin(), m.codes.end());
    }
    CHECK(same(joined, whole));
    sotto::detail::kernels::quantisation other = how;
    other.seed = 10;
    CHECK_FALSE(sent<4>(other, x).codes == whole.codes);
    other = how;
    other.first = 0;
    CHECK_FALSE(sent<4>(other, x).codes == whole.codes);
}

TEST_CASE("error feedback loses nothing: what is received and what is left are what was given") {
    with_every_width([]<int Bits>() {
        for (const auto kind : {sotto::detail::kernels::rounding::nearest,
                                sotto::detail::kernels::rounding::stochastic}) {
            constexpr std::size_t n = 1000;
            constexpr int rounds = 40;
            floats residual(n);
            std::vector<double> given(n), got(n);
            message m{floats(sotto::detail::kernels::blocks_of(n, 256)),
                      bytes(sotto::detail::kernels::bytes_of_codes(n, Bits)),
                      {}};
            for (std::uint64_t round = 0; round < rounds; ++round) {
                const floats x = normal_values(n, 100 + round), before = residual;
                const sotto::detail::kernels::quantisation how{
                    .block = 256, .round = kind, .seed = round};
                sotto::detail::kernels::quantise_with_feedback<Bits>(how, x, residual, m.scales,
                                                                     m.codes);
                const floats y = received<Bits>(256, m, n);
                for (std::size_t i = 0; i < n; ++i) {
                    const double value = double{x[i] + before[i]};
                    CHECK(std::abs(double{y[i]} + double{residual[i]} - value) <=
                          0x1p-24 * std::abs(double{residual[i]}));
                    given[i] += double{x[i]};
                    got[i] += double{y[i]};
                }
            }
            for (std::size_t i = 0; i < n; ++i)
                CHECK(std::abs(given[i] - got[i] - double{residual[i]}) < rounds * 2e-6);
        }
    });
}

TEST_CASE("error feedback is exact where the arithmetic is") {
    floats x(500), residual(500);
    sotto::random_stream random(4);
    for (float& value : x) value = static_cast<float>(random.below(201)) - 100.0f;
    for (float& value : residual) value = static_cast<float>(random.below(9)) - 4.0f;
    const floats before = residual;
    message m{floats(2), bytes(125), {}};
    sotto::detail::kernels::quantise_with_feedback<2>({.block = 256}, x, residual, m.scales,
                                                      m.codes);
    floats sum = residual;
    sotto::detail::kernels::dequantise_add<2>(256, m.scales, m.codes, sum);
    for (std::size_t i = 0; i < x.size(); ++i) CHECK(sum[i] == x[i] + before[i]);
}

TEST_CASE("finite values of every size stay finite") {
    with_every_width([]<int Bits>() {
        for (const float scale :
             {std::numeric_limits<float>::max(), 0x1p127f, 0x1.8p64f, 1.0f, 0x1p-90f, 0x1p-96f})
            for (const auto kind : {sotto::detail::kernels::rounding::nearest,
                                    sotto::detail::kernels::rounding::stochastic}) {
                floats x(256);
                for (std::size_t i = 0; i < x.size(); ++i)
                    x[i] = scale * (1.0f - static_cast<float>(i) / 128.0f);
                floats residual(x.size());
                message m{
                    floats(1), bytes(sotto::detail::kernels::bytes_of_codes(x.size(), Bits)), {}};
                sotto::detail::kernels::quantise_with_feedback<Bits>(
                    {.block = 256, .round = kind}, x, residual, m.scales, m.codes);
                CHECK(m.scales[0] == scale);
                const floats y = received<Bits>(256, m, x.size());
                if (kind == sotto::detail::kernels::rounding::nearest) CHECK(y[0] == scale);
                for (std::size_t i = 0; i < x.size(); ++i) {
                    CHECK(std::isfinite(y[i]));
                    CHECK(std::isfinite(residual[i]));
                    CHECK(std::abs(y[i]) <= scale);
                }
            }
    });
}

TEST_CASE("blocks of zeros, and of values too small to send, have scale 0") {
    with_every_width([]<int Bits>() {
        for (const float value : {0.0f, -0.0f, 1e-45f, -1e-40f, 0x1.fffffep-97f}) {
            const floats x(300, value);
            floats residual(x.size());
            message m{floats(2, 5.0f),
                      bytes(sotto::detail::kernels::bytes_of_codes(x.size(), Bits), 0xff),
                      {}};
            sotto::detail::kernels::quantise_with_feedback<Bits>(
                {.block = 256, .round = rounding::stochastic}, x, residual, m.scales, m.codes);
            CHECK(m.scales == floats{0.0f, 0.0f});
            CHECK(std::all_of(m.codes.begin(), m.codes.end(), [](int b) { return b == 0; }));
            CHECK(residual == x);
            CHECK(received<Bits>(256, m, x.size()) == floats(x.size()));
        }
    });
}

TEST_CASE("a block that is not finite decodes to NaN, and no other does") {
    with_every_width([]<int Bits>() {
        for (const float bad : {std::nanf(""), -std::nanf(""), INFINITY, -INFINITY})
            for (const auto kind : {sotto::detail::kernels::rounding::nearest,
                                    sotto::detail::kernels::rounding::stochastic}) {
                floats x = normal_values(800, 2), residual(x.size());
                x[300] = bad;
                message m{floats(4),
                          bytes(sotto::detail::kernels::bytes_of_codes(x.size(), Bits), 0xff),
                          {}};
                sotto::detail::kernels::quantise_with_feedback<Bits>(
                    {.block = 256, .round = kind}, x, residual, m.scales, m.codes);
                const floats y = received<Bits>(256, m, x.size());
                for (std::size_t i = 0; i < x.size(); ++i) {
                    CHECK(std::isnan(y[i]) == (i / 256 == 1));
                    CHECK(std::isnan(residual[i]) == (i / 256 == 1));
                }
                const auto codes = std::span(m.codes).subspan(32 * Bits, 32 * Bits);
                CHECK(std::all_of(codes.begin(), codes.end(), [](int b) { return b == 0; }));
            }
    });
}

TEST_CASE("quantise refuses arrays that do not fit and blocks that can't be") {
    floats x(300), scales(2), residual(299);
    bytes codes(150);
    const auto refused = [&](const sotto::detail::kernels::quantisation& how, std::size_t n,
                             std::size_t s, std::size_t c) {
        CHECK_THROWS_AS(
            sotto::detail::kernels::quantise<4>(
                how, std::span(x).first(n), std::span(scales).first(s), std::span(codes).first(c)),
            sotto::invalid_option);
    };
    CHECK_NOTHROW(sotto::detail::kernels::quantise<4>({.block = 256}, x, scales, codes));
    refused({.block = 256}, 300, 1, 150);
    refused({.block = 256}, 300, 2, 149);
    refused({.block = 256}, 298, 2, 150);
    refused({.block = 128}, 300, 2, 150);
    refused({.block = 300}, 300, 1, 150);
    refused({.block = std::size_t{1} << 21}, 300, 1, 150);
    refused({.block = 256, .first = 128}, 300, 2, 150);
    CHECK_THROWS_WITH(
        sotto::detail::kernels::quantise<4>({.block = 256}, x, scales, std::span(codes).first(149)),
        "quantise: the size of codes is 149; expected 150, the bytes of 300 codes of 4 bits");
    CHECK_THROWS_WITH(
        sotto::detail::kernels::quantise<4>({.block = 256}, x, std::span(scales).first(1), codes),
        "quantise: the size of scales is 1; expected 2, the blocks of 256 in 300 values");
    CHECK_THROWS_WITH(sotto::detail::kernels::quantise<4>({.block = 300}, x, scales, codes),
                      "quantise: block is 300; expected a power of two from 256 to 2^20");
    CHECK_THROWS_WITH(
        sotto::detail::kernels::quantise<4>({.block = 256, .first = 128}, x, scales, codes),
        "quantise: first is 128; expected a multiple of 256, the block");
    CHECK_THROWS_WITH_AS(
        sotto::detail::kernels::quantise_with_feedback<4>({.block = 256}, x, residual, scales,
                                                          codes),
        "quantise_with_feedback: the size of residual is 299; expected 300, the size of x",
        sotto::invalid_option);
    CHECK_THROWS_AS(
        sotto::detail::kernels::dequantise<4>(256, scales, std::span(codes).first(149), x),
        sotto::invalid_option);
    CHECK_THROWS_AS(sotto::detail::kernels::dequantise_add<4>(512, scales, codes, x),
                    sotto::invalid_option);
    CHECK_NOTHROW(sotto::detail::kernels::quantise<8>({}, {}, {}, {}));
    CHECK_NOTHROW(sotto::detail::kernels::dequantise<8>(256, {}, {}, {}));
}
