#include "support/run_length_code.hpp"

#include <doctest/doctest.h>

#include <cstdint>
#include <vector>

#include "support/index_lists.hpp"

using namespace sotto;
using sotto::testing::index_list;
using sotto::testing::run_length_code;

namespace {

// Encodes and decodes; returns how many fillers went in between.
std::int64_t round_trip(std::uint64_t n, const index_list& indices) {
    std::vector<float> values(indices.size());
    for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(i) + 0.5f;
    bytes out;
    const std::int64_t fillers = run_length_code::encode(indices, values, out);
    CHECK(out.size() == 6 * (indices.size() + static_cast<std::size_t>(fillers)));
    const auto back = run_length_code::decode(out, n);
    REQUIRE(back);
    REQUIRE(back->size() == indices.size());
    for (std::size_t i = 0; i < indices.size(); ++i) {
        CHECK((*back)[i].first == indices[i]);
        CHECK((*back)[i].second == values[i]);
    }
    return fillers;
}

}  // namespace

TEST_CASE("the paper's run lengths come back, with nothing, one entry and the last index") {
    CHECK(round_trip(100, {}) == 0);
    CHECK(round_trip(1, {0}) == 0);
    CHECK(round_trip(100, {99}) == 0);
    CHECK(round_trip(100, {0, 99}) == 0);
    CHECK(round_trip(10'000'000, testing::random_indices(10'000'000, 10'000, 1)) == 0);
}

TEST_CASE("a gap above 65535 takes a filler for every 65536 positions") {
    CHECK(round_trip(1'000'000, {65'535}) == 0);
    CHECK(round_trip(1'000'000, {65'536}) == 1);
    CHECK(round_trip(1'000'000, {10, 10 + 65'536, 10 + 65'536 + 65'537}) == 1);
    CHECK(round_trip(1'000'000, {131'071}) == 1);
    CHECK(round_trip(1'000'000, {131'072}) == 2);
    CHECK(round_trip(std::uint64_t{1} << 32, {0xFFFFFFFF}) == 65'535);
}

TEST_CASE("run lengths that leave the tensor or stop inside an entry are refused") {
    bytes out;
    run_length_code::encode(index_list{5, 9}, std::vector<float>{1, 2}, out);
    CHECK(run_length_code::decode(out, 10));
    CHECK_FALSE(run_length_code::decode(out, 9));
    out.pop_back();
    CHECK_FALSE(run_length_code::decode(out, 10));
}
