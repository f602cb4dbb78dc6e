#include "sotto/wire/detail/blocks/sparse_pair.hpp"

#include <doctest/doctest.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <vector>

#include "support/index_lists.hpp"

using namespace sotto;
using namespace sotto::wire;
using namespace sotto::detail::wire;
using sotto::testing::index_list;

namespace {

struct written {
    std::int64_t n = 0;
    bytes in;
    index_mode mode = index_mode::run;
};

written block(std::int64_t n, const index_list& indices, value_format format,
              std::uint64_t seed = 1) {
    random_stream random(seed);
    std::vector<float> values(indices.size());
    for (float& value : values) value = random.normal();
    written made{n, {}, {}};
    made.mode = encode_sparse(n, indices, values, format, made.in).mode;
    return made;
}

// One after the other, as who is told nothing does; true if both were right.
template <class Index>
bool alone(const written& first, const written& second, std::span<Index> indices,
           std::span<float> values, std::size_t& entries) {
    const auto a = decode_sparse(first.in, first.n, indices, values);
    if (!a) return false;
    const std::size_t k = a->indices.size();
    const auto b = decode_sparse(second.in, second.n, indices.subspan(k), values.subspan(k));
    if (!b) return false;
    entries = k + b->indices.size();
    return true;
}

// What a pair gives is what both give alone; true if it gave something.
template <class Index = std::uint32_t>
bool check_pair(const written& first, const written& second, std::size_t room = 9000) {
    std::vector<Index> indices(room), indices_alone(room);
    std::vector<float> values(room), values_alone(room);
    std::size_t entries = 0;
    const bool right = alone<Index>(first, second, indices_alone, values_alone, entries);
    const auto both = decode_sparse_pair({{{first.in, first.n}, {second.in, second.n}}},
                                         std::span<Index>(indices), std::span<float>(values));
    if (!both) return false;
    REQUIRE(right);
    const auto& [a, b] = *both;
    REQUIRE(a.indices.size() + b.indices.size() == entries);
    REQUIRE(a.values.size() == a.indices.size());
    REQUIRE(b.values.size() == b.indices.size());
    REQUIRE(a.indices.data() == indices.data());
    REQUIRE(b.indices.data() == indices.data() + a.indices.size());
    REQUIRE(b.values.data() == values.data() + a.values.size());
    const auto same = [&](const auto& x, const auto& y) {
        return std::memcmp(x.data(), y.data(), entries * sizeof x[0]) == 0;  // a NaN is itself
    };
    REQUIRE(same(indices, indices_alone));
    REQUIRE(same(values, values_alone));
    return true;
}

}  // namespace

TEST_CASE("two blocks come back as they do alone, of every mode and length, and of all pairs") {
    std::vector<written> blocks;
    for (const std::size_t k : {0u, 1u, 3u, 8u, 15u, 16u, 41u, 1000u, 4000u})
        for (const std::uint64_t n : {4000u, 5000u, 1'000'000u, 4'000'000'000u})
            for (const value_format format : {value_format::fp32, value_format::fp16}) {
                const auto size = static_cast<std::int64_t>(n);
                blocks.push_back(block(size, testing::random_indices(n, k, k + n), format));
                blocks.push_back(block(size, testing::runs_of_indices(n, k, k), format));
            }
    blocks.push_back(block(50, {3, 4, 5, 6, 7}, value_format::fp32));  // a run
    for (const std::uint64_t seed : {1u, 2u, 3u})                      // bitmaps
        blocks.push_back(block(5000, testing::random_indices(5000, 2500, seed), {}));
    std::array<std::size_t, 4> together{}, apart{};
    for (const written& a : blocks)
        for (const written& b : blocks) {
            const bool gave = check_pair(a, b);
            ++(gave ? together : apart)[static_cast<std::size_t>(a.mode)];
            REQUIRE(check_pair<std::uint64_t>(a, b) == gave);
        }
    CHECK(together[std::size_t(index_mode::rice)] > 100);
    CHECK(together[std::size_t(index_mode::classes)] > 100);
    CHECK(together[std::size_t(index_mode::run)] == 0);
    CHECK(together[std::size_t(index_mode::bitmap)] == 0);
    CHECK(apart[std::size_t(index_mode::bitmap)] > 100);
}

TEST_CASE("gaps of all lengths come back in pairs, however many of them a word holds") {
    const auto uneven = [](std::size_t k, int bits, std::uint64_t seed) {
        random_stream random(seed);
        index_list list;
        std::uint64_t next = 0;
        while (list.size() < k) {
            next += random() >> (32 - bits);
            if (random.below(9) == 0) next += random() >> (4 + random.below(28));
            if (next >= 0xFFFFFFFF) break;
            list.push_back(static_cast<std::uint32_t>(next++));
        }
        return list;
    };
    std::size_t together = 0, all = 0;
    for (const int bits : {1, 4, 9, 12, 16, 23})
        for (const int other : {1, 9, 16, 28})
            for (const std::size_t k : {20u, 999u, 3000u}) {
                const written a =
                    block(std::int64_t{1} << 32, uneven(k, bits, k), value_format::fp32);
                const written b =
                    block(std::int64_t{1} << 32, uneven(k / 2 + 11, other, 7), value_format::fp32);
                REQUIRE(a.mode != index_mode::bitmap);
                together += check_pair(a, b);
                ++all;
            }
    CHECK(together > all / 3);
}

TEST_CASE(
    "a pair of which one block is cut off, longer or changed in one bit is what it is alone") {
    // A pair gives something only where both are right alone; where it gives nothing, the caller
    // decodes alone. So all that could be wrong is that it gives what alone would be refused.
    random_stream random(5);
    std::size_t given = 0;
    for (const std::size_t k : {12u, 300u}) {  // rice, classes
        const index_list list = testing::random_indices(100'000, k, 3);
        const written right = block(100'000, list, {});
        const written other = block(200'000, testing::random_indices(200'000, k + 5, 4), {});
        REQUIRE(check_pair(right, other));
        for (std::size_t cut = 0; cut < right.in.size(); cut += 1 + cut / 16) {
            written changed = right;
            changed.in.resize(cut);
            given += check_pair(changed, other);
            given += check_pair(other, changed);
        }
        for (int i = 0; i < 3000; ++i) {
            written changed = right;
            const auto at = random.below(i % 2 ? 40 : static_cast<std::uint32_t>(right.in.size()));
            changed.in[at % right.in.size()] ^= static_cast<std::byte>(1 << random.below(8));
            given += check_pair(changed, other);
            given += check_pair(other, changed);
        }
        written longer = right;
        longer.in.push_back({});
        CHECK_FALSE(check_pair(longer, other));
        written smaller = right;
        smaller.n = list.back();
        std::vector<std::uint32_t> indices(k);
        std::vector<float> values(k);
        REQUIRE_FALSE(decode_sparse(smaller.in, smaller.n, indices, values));
        CHECK_FALSE(check_pair(smaller, other));
        CHECK_FALSE(check_pair(other, smaller));
    }
    CHECK(given > 100);  // a change of a value is another block
}

TEST_CASE("a pair that has no room gives nothing") {
    const written a = block(100'000, testing::random_indices(100'000, 300, 3), {});
    const auto entries = static_cast<std::size_t>(peek_sparse(a.in)->entries);
    CHECK(check_pair(a, a, 2 * entries));
    CHECK_FALSE(check_pair(a, a, 2 * entries - 1));
    CHECK_FALSE(check_pair(a, a, entries - 1));
}
