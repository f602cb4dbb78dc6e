#include "sotto/wire/detail/coding/prefix_code.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <cstdint>
#include <numeric>
#include <vector>

#include "sotto/core/random.hpp"

using namespace sotto;
using namespace sotto::wire;
using namespace sotto::detail::wire;

namespace {

std::uint64_t bits_of(const prefix_code& code, const std::vector<std::uint64_t>& counts) {
    std::uint64_t bits = 0;
    for (std::size_t i = 0; i < code.size(); ++i)
        bits += counts[i] * static_cast<std::uint64_t>(code.length(i));
    return bits;
}

double entropy_of(const std::vector<std::uint64_t>& counts) {
    const auto total =
        static_cast<double>(std::accumulate(counts.begin(), counts.end(), std::uint64_t{0}));
    double bits = 0;
    for (const std::uint64_t count : counts)
        if (count > 0)
            bits -= static_cast<double>(count) * std::log2(static_cast<double>(count) / total);
    return bits;
}

bool fills_the_space(const prefix_code& code) {
    std::uint32_t space = 0;
    for (std::size_t i = 0; i < code.size(); ++i)
        if (code.length(i) > 0) space += 4096u >> code.length(i);
    return space == 4096;
}

bytes written(const prefix_code& code) {
    bytes out;
    bit_writer writer(out);
    code.write(writer);
    writer.finish();
    return out;
}

bool same(const prefix_code& a, const prefix_code& b) {
    bool equal = a.size() == b.size();
    for (std::size_t i = 0; equal && i < a.size(); ++i) equal = a.length(i) == b.length(i);
    return equal;
}

}  // namespace

TEST_CASE("powers of two get exactly their logarithms as lengths") {
    const auto code = prefix_code::of(std::vector<std::uint64_t>{0, 8, 4, 0, 2, 1, 1});
    const std::vector<int> expected{0, 1, 2, 0, 3, 4, 4};
    REQUIRE(code.size() == expected.size());
    for (std::size_t i = 0; i < expected.size(); ++i) CHECK(code.length(i) == expected[i]);
}

TEST_CASE("codes fill the space, come back from their lengths and stay near the entropy") {
    random_stream random(1);
    for (int round = 0; round < 300; ++round) {
        std::vector<std::uint64_t> counts(2 + random.below(303));
        for (auto& count : counts)
            count = random.below(3) == 0 ? 0 : random.bits64() >> (24 + random.below(40));
        counts[random.below(counts.size())] += 1;
        for (auto& count : counts) count >>= 9;  // a sum below 2^48
        if (std::accumulate(counts.begin(), counts.end(), std::uint64_t{0}) == 0) counts[0] = 1;
        const auto code = prefix_code::of(counts);
        REQUIRE(fills_the_space(code));
        REQUIRE(code.longest() <= prefix_code::length_max);
        // Huffman's bound, with what at most 304 codes of 12 bits may take away from the others.
        const auto total =
            static_cast<double>(std::accumulate(counts.begin(), counts.end(), std::uint64_t{0}));
        CHECK(static_cast<double>(bits_of(code, counts)) <= entropy_of(counts) + 1.12 * total);

        const bytes out = written(code);
        bit_reader reader(out);
        const auto back = prefix_code::read(reader);
        REQUIRE(back);
        REQUIRE(reader.finished());
        CHECK(same(*back, code));
    }
}

TEST_CASE("the cost of a known example is Huffman's") {
    // The tree is a comb: 1*7 + 1*7 + 2*6 + 3*5 + 5*4 + 8*3 + 13*2 + 21*1 bits.
    const std::vector<std::uint64_t> fibonacci{1, 1, 2, 3, 5, 8, 13, 21};
    CHECK(bits_of(prefix_code::of(fibonacci), fibonacci) == 132);
}

TEST_CASE("counts whose tree is too deep are cut to 12 bits at little cost") {
    std::vector<std::uint64_t> fibonacci{1, 1};
    while (fibonacci.size() < 40) fibonacci.push_back(fibonacci.end()[-1] + fibonacci.end()[-2]);
    const auto code = prefix_code::of(fibonacci);
    CHECK(fills_the_space(code));
    CHECK(code.longest() == 12);
    double uncut = 0;  // the tree is a comb: 39 levels, the two rarest at the bottom
    for (std::size_t i = 0; i < 40; ++i)
        uncut += static_cast<double>(fibonacci[i] * (i == 0 ? 39 : 40 - i));
    CHECK(static_cast<double>(bits_of(code, fibonacci)) < 1.02 * uncut);
}

TEST_CASE("a single symbol gets a companion, for a code needs two") {
    const auto alone = prefix_code::of(std::vector<std::uint64_t>{0, 0, 7});
    CHECK(alone.size() == 3);
    CHECK(alone.length(0) == 1);
    CHECK(alone.length(2) == 1);
    const auto zero = prefix_code::of(std::vector<std::uint64_t>{7, 0, 0});
    CHECK(zero.size() == 2);
    CHECK(zero.length(1) == 1);
}

TEST_CASE("no code is the beginning of another") {
    random_stream random(2);
    std::vector<std::uint64_t> counts(100);
    for (auto& count : counts) count = random.below(1000) * random.below(1000);
    std::vector<int> owner(4096, -1);
    prefix_code::of(counts).for_each([&](std::size_t symbol, std::uint32_t bits, int length) {
        for (std::size_t i = bits; i < owner.size(); i += std::size_t{1} << length) {
            REQUIRE(owner[i] == -1);
            owner[i] = static_cast<int>(symbol);
        }
    });
    for (const int symbol : owner) CHECK(symbol >= 0);
}

namespace {

// Lengths as raw fields: kinds as in the docblock of prefix_code.
struct field {
    std::uint64_t value;
    int width;
};
constexpr field same_length{0b0, 1}, longer{0b01, 2}, shorter{0b011, 3}, unused{0b0111, 4};
constexpr field other(unsigned length) {
    return {0b1111 | length << 4, 8};
}

bool accepted(std::initializer_list<field> fields) {
    bytes out;
    bit_writer writer(out);
    for (const field& f : fields) writer.put(f.value, f.width);
    writer.finish();
    bit_reader reader(out);
    return static_cast<bool>(prefix_code::read(reader));
}

}  // namespace

TEST_CASE(
    "lengths that do not fill the space exactly, or say something the long way, are refused") {
    const field run_of_1{1, 1}, run_of_2{0b10, 2 + 1};
    CHECK(accepted({other(1), same_length}));
    CHECK(accepted({other(1), longer, same_length}));
    CHECK(accepted({unused, run_of_1, other(1), same_length}));
    CHECK(accepted({unused, run_of_2, other(2), same_length, shorter}));
    CHECK_FALSE(accepted({other(1), longer, shorter}));  // 1/2 + 1/4 + 1/2
    CHECK_FALSE(accepted({other(1)}));                   // the input ends at 1/2
    CHECK_FALSE(accepted({other(0)}));
    CHECK_FALSE(accepted({other(13)}));
    CHECK_FALSE(accepted({other(1), shorter}));             // length 0
    CHECK_FALSE(accepted({other(12), longer}));             // length 13
    CHECK_FALSE(accepted({other(6), same_length}));         // 6 is where it starts
    CHECK_FALSE(accepted({other(1), other(2), other(2)}));  // one more, said the long way
    CHECK_FALSE(accepted({unused, run_of_1, unused, run_of_1, other(1), same_length}));
    CHECK_FALSE(accepted({unused, field{0x100, 9}, field{303 - 256, 8}, other(1), same_length}));
    CHECK_FALSE(accepted({unused, field{0x200, 10}, field{0, 9}, other(1), same_length}));
    CHECK(accepted({unused, field{0x100, 9}, field{302 - 256, 8}, other(1), same_length}));
}
