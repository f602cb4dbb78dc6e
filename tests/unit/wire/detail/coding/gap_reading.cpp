#include "sotto/wire/detail/coding/gap_reading.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "sotto/wire/detail/coding/index_code.hpp"
#include "support/index_lists.hpp"

using namespace sotto;
using namespace sotto::wire;
using namespace sotto::detail::wire;
using sotto::testing::index_list;

namespace {

// Gaps below 2^bits, and one in nine as long as it may be: they do not fit a word as others do.
index_list uneven(std::size_t k, int bits, std::uint64_t seed) {
    random_stream random(seed);
    index_list list;
    std::uint64_t next = 0;
    for (std::size_t i = 0; i < k; ++i) {
        next += random() >> (32 - bits);
        if (random.below(9) == 0) next += random() >> (4 + random.below(28));
        if (next >= 0xFFFFFFFF) break;
        list.push_back(static_cast<std::uint32_t>(next++));
    }
    return list;
}

struct refusals {
    std::size_t all = 0, with_index = 0;
};

template <class Code>
refusals check_reading(const Code& code, std::int64_t n, const index_list& list) {
    bytes out;
    bit_writer writer(out, code.bits);
    code.write(std::span<const std::uint32_t>(list), writer);
    writer.finish();
    REQUIRE(static_cast<std::int64_t>(out.size()) == (code.bits + 7) / 8);
    index_list back(list.size());
    bit_reader reader(out);
    REQUIRE(Code::read(n, reader, std::span(back)));
    REQUIRE(reader.finished());
    REQUIRE(back == list);

    // A tensor that ends at any one of the indices: refused, and the index named, unless its gap
    // or class alone is too much.
    refusals counted;
    for (std::size_t i = 0; i < list.size(); i += 1 + list.size() / 40) {
        if (list[i] == 0) continue;
        bit_reader again(out);
        const auto refused = Code::read(std::int64_t{list[i]}, again, std::span(back));
        REQUIRE_FALSE(refused);
        REQUIRE(refused.why().offset <= static_cast<std::int64_t>(out.size()));
        ++counted.all;
        if (std::string(refused.why().expected) != "an index below the tensor's size") continue;
        REQUIRE(refused.why().found == std::int64_t{list[i]});
        ++counted.with_index;
    }
    return counted;
}

}  // namespace

TEST_CASE("gaps come back however many of them a word holds, and at every distance from the end") {
    refusals of_rice, of_classes;
    const auto check = [&](const index_list& list) {
        const std::span<const std::uint32_t> indices(list);
        const std::int64_t n = std::int64_t{list.back()} + 1;
        const refusals rice = check_reading(rice_code::of(indices), n, list);
        const refusals classes = check_reading(class_code::of(gap_counts(indices)), n, list);
        of_rice = {of_rice.all + rice.all, of_rice.with_index + rice.with_index};
        of_classes = {of_classes.all + classes.all, of_classes.with_index + classes.with_index};
    };
    for (const int bits : {1, 4, 9, 12, 16, 23, 28})
        for (std::size_t k = 1; k <= 70; ++k) {
            const index_list list = uneven(k, bits, k);
            if (!list.empty()) check(list);
        }
    for (const int bits : {2, 9, 14})
        for (const std::size_t k : {511u, 512u, 513u, 3000u}) check(uneven(k, bits, k));
    CHECK(of_rice.all > 10'000);
    CHECK(of_rice.with_index == of_rice.all);
    CHECK(of_classes.with_index > of_classes.all / 2);
}

TEST_CASE("a refused index is named: the first that the tensor does not have") {
    std::size_t named = 0;
    const index_list list = testing::random_indices(1'000'000, 500, 1);
    bytes out;
    encode_indices(1'000'000, list, out);
    for (std::size_t i = 1; i < list.size(); ++i) {
        index_list back(list.size());
        const auto refused = decode_indices(std::int64_t{list[i]}, out, std::span(back));
        REQUIRE_FALSE(refused);
        if (std::string(refused.why().expected) != "an index below the tensor's size") continue;
        REQUIRE(refused.why().found == std::int64_t{list[i]});
        ++named;
    }
    CHECK(named + 10 > list.size());
}
