#include "sotto/wire/detail/coding/index_code.hpp"

#include <doctest/doctest.h>

#include <cstdint>
#include <numeric>
#include <span>
#include <string>
#include <vector>

#include "support/index_lists.hpp"

using namespace sotto;
using namespace sotto::wire;
using namespace sotto::detail::wire;
using sotto::testing::index_list;

namespace {

template <class Index>
bool comes_back(std::int64_t n, const std::vector<Index>& indices) {
    bytes out{std::byte{1}};
    const coded_indices coded = encode_indices(n, indices, out);
    const auto k = static_cast<std::int64_t>(indices.size());
    std::vector<Index> back(indices.size());
    const auto mode = decode_indices(n, byte_view(out).subspan(1), std::span(back));
    return mode && *mode == coded.mode && back == indices &&
           coded.bits <= index_code_bits_max(n, k) &&
           static_cast<std::int64_t>(out.size()) == 1 + (coded.bits + 7) / 8;
}

coded_indices coded(std::int64_t n, const index_list& indices) {
    bytes out;
    return encode_indices(n, indices, out);
}

index_list counting(std::uint32_t first, std::size_t k) {
    index_list indices(k);
    std::iota(indices.begin(), indices.end(), first);
    return indices;
}

struct named_list {
    std::string name;
    index_list list;
};

// Each index with probability 1/2, the last one surely.
index_list half_of(std::uint32_t n) {
    random_stream random(n);
    index_list indices;
    for (std::uint32_t i = 0; i < n; ++i)
        if (i == n - 1 || random.below(2) == 0) indices.push_back(i);
    return indices;
}

}  // namespace

TEST_CASE("every list of indices below n comes back, for every n up to 12") {
    for (std::int64_t n = 0; n <= 12; ++n)
        for (std::uint32_t set = 0; set < 1u << n; ++set) {
            index_list indices;
            for (std::uint32_t i = 0; i < n; ++i)
                if (set >> i & 1) indices.push_back(i);
            REQUIRE(comes_back(n, indices));
        }
}

TEST_CASE("lists of every size come back, for every n up to 70") {
    random_stream random(1);
    for (std::int64_t n = 1; n <= 70; ++n)
        for (std::int64_t k = 0; k <= n; ++k)
            for (int repeat = 0; repeat < 3; ++repeat) {
                index_list indices;  // each subset of k is as likely as any other
                for (std::int64_t i = 0; i < n; ++i)
                    if (static_cast<std::int64_t>(random.below(static_cast<std::uint64_t>(n - i))) <
                        k - static_cast<std::int64_t>(indices.size()))
                        indices.push_back(static_cast<std::uint32_t>(i));
                REQUIRE(comes_back(n, indices));
            }
}

TEST_CASE("single entries, runs, strides and ends come back, up to the largest tensors") {
    for (const std::int64_t n : {std::int64_t{100}, std::int64_t{65536},
                                 (std::int64_t{1} << 32) - 1, std::int64_t{1} << 32}) {
        const auto last = static_cast<std::uint32_t>(n - 1);
        CHECK(comes_back(n, index_list{}));
        CHECK(comes_back(n, index_list{0}));
        CHECK(comes_back(n, index_list{last}));
        CHECK(comes_back(n, index_list{0, last}));
        CHECK(comes_back(n, index_list{last - 1, last}));
        CHECK(comes_back(n, counting(0, 60)));
        CHECK(comes_back(n, counting(last - 59, 60)));
        index_list every_third = counting(0, 30);
        for (std::uint32_t& index : every_third) index *= 3;
        CHECK(comes_back(n, every_third));
        index_list with_last = counting(10, 50);
        with_last.push_back(last);
        CHECK(comes_back(n, with_last));
    }
}

TEST_CASE("tensors above 2^32 elements come back with 64-bit indices") {
    for (const std::int64_t n : {(std::int64_t{1} << 32) + 1, std::int64_t{1} << 40}) {
        const auto last = static_cast<std::uint64_t>(n - 1);
        using wide_list = std::vector<std::uint64_t>;
        CHECK(comes_back(n, wide_list{}));
        CHECK(comes_back(n, wide_list{last}));
        CHECK(comes_back(n, wide_list{0, (std::uint64_t{1} << 32) - 1, last}));
        random_stream random(5);
        wide_list random_list(5000);
        for (std::size_t i = 0; i < random_list.size(); ++i)
            random_list[i] =
                (last / random_list.size()) * i + random.below(last / random_list.size());
        CHECK(comes_back(n, random_list));
        wide_list run(100);
        std::iota(run.begin(), run.end(), last - 99);
        CHECK(comes_back(n, run));
    }
    CHECK(comes_back(1'000'000, std::vector<std::uint64_t>{3, 4, 999'999}));
}

TEST_CASE("both widths of index write the same bytes") {
    const index_list narrow = testing::bursts_of_indices(1'000'000, 5000, 3);
    const std::vector<std::uint64_t> wide(narrow.begin(), narrow.end());
    bytes from_narrow, from_wide;
    encode_indices(1'000'000, narrow, from_narrow);
    encode_indices(1'000'000, wide, from_wide);
    CHECK(from_narrow == from_wide);
}

TEST_CASE("no list takes more than log2 C(n,k) + 3 % bits, random or with structure") {
    struct size {
        std::uint64_t n;
        std::size_t k;
    };
    for (const size s : {size{10'000'000, 1000}, size{1'000'000, 1000}, size{1'000'000, 2500},
                         size{25'000'000, 25'000}, size{1'000'000, 10'000}, size{1'000'000, 31'623},
                         size{1'000'000, 70'000}, size{3'000'000, 299'000}}) {
        const std::vector<named_list> lists{
            {"random", testing::random_indices(s.n, s.k, 1)},
            {"runs", testing::runs_of_indices(s.n, s.k, 2)},
            {"bursts", testing::bursts_of_indices(s.n, s.k, 3)},
            {"channels", testing::channels_of_indices(s.n, s.k, 4)},
            {"rounded down to classes of fine 1", testing::rounded_down_indices(s.n, s.k, 5, 1)},
            {"rounded down to classes of fine 3", testing::rounded_down_indices(s.n, s.k, 5, 3)}};
        for (const named_list& named : lists) {
            const index_list& list = named.list;
            CAPTURE(named.name);
            CAPTURE(s.n);
            CAPTURE(list.size());
            const auto n = static_cast<std::int64_t>(s.n),
                       k = static_cast<std::int64_t>(list.size());
            REQUIRE(k > 0);
            const double bits = static_cast<double>(coded(n, list).bits);
            CHECK(bits <= 1.03 * testing::log2_choose(n, k) + (k < 1000 ? 30 : 0));
            CHECK(comes_back(n, list));
        }
    }
}

TEST_CASE("structure is used: runs and channels take far fewer bits than random indices") {
    const std::int64_t n = 10'000'000;
    const double random = testing::log2_choose(n, 10'000);
    CHECK(static_cast<double>(coded(n, testing::runs_of_indices(n, 10'000, 1)).bits) <
          0.3 * random);
    CHECK(static_cast<double>(coded(n, testing::channels_of_indices(n, 10'000, 1)).bits) <
          0.7 * random);
}

TEST_CASE("each mode is taken where it is the cheapest") {
    CHECK(coded(1'000'000, counting(5, 1000)).mode == index_mode::run);
    CHECK(coded(1'000'000, index_list{7, 500'000, 900'000}).mode == index_mode::rice);
    CHECK(coded(1'000'000, testing::runs_of_indices(1'000'000, 1000, 1)).mode ==
          index_mode::classes);
    CHECK(coded(10'000, half_of(10'000)).mode == index_mode::bitmap);
    CHECK(coded(1000, counting(0, 1000)).bits == 0);
    CHECK(coded(1000, index_list{}).bits == 0);
}

TEST_CASE("few entries stay small") {
    CHECK(coded(1'000'000, index_list{123'456}).bits == 2 + 20);
    for (std::size_t k = 2; k <= 20; ++k)
        for (std::uint64_t seed = 0; seed < 10; ++seed) {
            const auto list = testing::random_indices(1'000'000, k, seed);
            const auto size = static_cast<std::int64_t>(list.size());
            if (size == 0) continue;
            CHECK(static_cast<double>(coded(1'000'000, list).bits) <=
                  testing::log2_choose(1'000'000, size) + 12 + 0.7 * static_cast<double>(size));
        }
}

TEST_CASE("the bound never falls as k grows and stays below the bitmap") {
    for (const std::int64_t n : {1, 2, 10, 1000, 54'321})
        for (std::int64_t k = 1; k <= n; ++k) {
            REQUIRE(index_code_bits_max(n, k) >= index_code_bits_max(n, k - 1));
            REQUIRE(index_code_bits_max(n, k) <= n + 2);
        }
    CHECK(index_code_bits_max(index_code_n_max, 1) <= 2 + 6 + 42);
}

TEST_CASE("the list that Rice's bound is tight for does not exceed the bound") {
    // All gaps in the last one: the sum of floors is as large as the floor of the sum.
    for (const std::int64_t n : {1000, 100'000}) {
        for (std::size_t k = 1; k < 15; ++k) {
            index_list list = counting(0, k);
            list.back() = static_cast<std::uint32_t>(n - 1);
            CHECK(comes_back(n, list));
        }
    }
}

TEST_CASE(
    "indices that do not rise, reach n or exceed the index type are refused before anything is "
    "written") {
    bytes out{std::byte{7}};
    CHECK_THROWS_AS(encode_indices(10, index_list{3, 3}, out), invalid_option);
    CHECK_THROWS_AS(encode_indices(10, index_list{4, 3}, out), invalid_option);
    CHECK_THROWS_AS(encode_indices(10, index_list{3, 10}, out), invalid_option);
    CHECK_THROWS_AS(encode_indices(0, index_list{0}, out), invalid_option);
    CHECK_THROWS_AS(encode_indices(-1, index_list{}, out), invalid_option);
    CHECK_THROWS_AS(encode_indices((std::int64_t{1} << 32) + 1, index_list{}, out), invalid_option);
    CHECK_THROWS_AS(encode_indices(index_code_n_max + 1, std::vector<std::uint64_t>{}, out),
                    invalid_option);
    CHECK(out == bytes{std::byte{7}});
}

TEST_CASE("more entries than elements, and tensors too large for the index type, are refused") {
    index_list three(3);
    CHECK_FALSE(decode_indices(2, bytes(1), three));
    CHECK_FALSE(decode_indices(-1, bytes(1), std::span<std::uint32_t>()));
    CHECK_FALSE(decode_indices((std::int64_t{1} << 32) + 1, bytes(9), three));
}

TEST_CASE("index_code: a run that ends beyond the tensor -> refused") {
    struct shape {
        std::int64_t n;
        std::size_t k;
    };
    for (const shape s : {shape{3000, 40}, shape{5, 4}, shape{70, 1}}) {
        CAPTURE(s.n);
        const auto read_run_from = [&](std::int64_t first) {
            const int size = sotto::detail::wire::run_bits(s.n, s.k);
            bytes out;
            {
                bit_writer writer(out, sotto::detail::wire::mode_bits + size);
                writer.put(static_cast<std::uint64_t>(index_mode::run),
                           sotto::detail::wire::mode_bits);
                writer.put(static_cast<std::uint64_t>(first), size);
                writer.finish();
            }
            index_list read(s.k);
            const auto mode = decode_indices(s.n, out, read);
            if (mode) CHECK(read.back() == first + static_cast<std::int64_t>(s.k) - 1);
            return static_cast<bool>(mode);
        };
        const std::int64_t last = s.n - static_cast<std::int64_t>(s.k);
        CHECK(read_run_from(0));
        CHECK(read_run_from(last));
        // All that the bits can say.
        for (std::int64_t first = last + 1; first >> sotto::detail::wire::run_bits(s.n, s.k) == 0;
             ++first)
            REQUIRE_FALSE(read_run_from(first));
    }
}

TEST_CASE("what is cut off, extended or changed in one bit is refused or is another valid list") {
    const std::int64_t n = 3000;
    for (const index_list& list :
         {index_list{1234}, index_list{5, 100, 2999}, counting(17, 40), half_of(3000),
          testing::runs_of_indices(3000, 60, 2), testing::channels_of_indices(3000, 100, 3)}) {
        bytes whole;
        encode_indices(n, list, whole);
        index_list back(list.size());
        for (std::size_t size = 0; size < whole.size(); ++size)
            REQUIRE_FALSE(decode_indices(n, byte_view(whole).first(size), back));
        whole.push_back(std::byte{0});
        REQUIRE_FALSE(decode_indices(n, whole, back));
        whole.pop_back();
        for (std::size_t bit = 0; bit < 8 * whole.size(); ++bit) {
            const auto flip = static_cast<std::byte>(1u << bit % 8);
            whole[bit / 8] ^= flip;
            if (decode_indices(n, whole, back)) {
                for (std::size_t i = 1; i < back.size(); ++i) REQUIRE(back[i - 1] < back[i]);
                REQUIRE(back.back() < n);
                REQUIRE(back != list);
            }
            whole[bit / 8] ^= flip;
        }
    }
}
