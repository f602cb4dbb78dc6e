#include "sotto/kernels/detail/top_k/collect.hpp"

#include <doctest/doctest.h>

#include <utility>
#include <vector>

#include "sotto/core/random.hpp"
#include "sotto/kernels/detail/top_k/sources.hpp"
#include "sotto/kernels/detail/simd/unfused.hpp"

using namespace sotto;
using sotto::detail::kernels::crowding;
using sotto::detail::kernels::magnitude_of;

namespace {

using pass = sotto::detail::kernels::collect<sotto::detail::kernels::plain_source>;

// Arrays of exactly the room: a sanitizer sees what a full register would write behind it.
struct room_of {
    std::vector<std::uint32_t> places;
    std::vector<float> values;
    explicit room_of(std::size_t room) : places(room), values(room) {}
    sotto::detail::kernels::candidates candidates() {
        return {places.data(), values.data(), nullptr, 0, places.size()};
    }
};

/// All ways to collect that this processor has.
std::vector<std::pair<crowding, sotto::detail::kernels::processor>> ways() {
    const auto here = sotto::detail::kernels::this_processor();
    return {{crowding::sparse, here},
            {crowding::some, here},
            {crowding::some, {}},
            {crowding::dense, here}};
}

}  // namespace

TEST_CASE("one pass finds what reaches a magnitude, for every length up to four blocks") {
    constexpr std::size_t block = sotto::detail::kernels::collect_block;
    random_stream random(1);
    for (std::size_t n = 0; n <= 4 * block + 1; ++n)
        for (std::size_t start = 0; start < 16; ++start) {
            std::vector<float> memory(start + n);
            for (float& value : memory) value = random.normal();
            const sotto::detail::kernels::plain_source source{memory.data() + start};
            for (const float least : {0.0f, 0.7f, 2.5f, 9.0f})
                for (const auto& [expected, on] : ways()) {
                    room_of room(n + block);
                    const auto progress = detail::kernels::run_unfused<pass>(
                        kernels::best_instruction_set(), source,
                        sotto::detail::kernels::collect_request{.end = n,
                                                                .least = magnitude_of(least),
                                                                .expected = expected,
                                                                .to = room.candidates(),
                                                                .on = on});
                    REQUIRE(progress.at == n);
                    std::size_t count = 0;
                    for (std::size_t i = 0; i < n; ++i) {
                        if (magnitude_of(source.values[i]) < magnitude_of(least)) continue;
                        REQUIRE(room.places[count] == i);
                        REQUIRE(room.values[count] == source.values[i]);
                        ++count;
                    }
                    REQUIRE(progress.count == count);
                }
        }
}

TEST_CASE("a pass stops where there is no room for a block, and goes on from there") {
    constexpr std::size_t block = sotto::detail::kernels::collect_block, n = 10 * block + 5;
    const std::vector<float> values(n, 1.0f);
    for (const std::size_t spare : {std::size_t{0}, std::size_t{1}, block / 2, block, 3 * block})
        for (const auto& [expected, on] : ways()) {
            sotto::detail::kernels::collect_request request;
            request.end = n;
            request.least = 1;
            request.expected = expected;
            request.on = on;
            std::size_t found = 0, stops = 0;
            while (request.from < n) {
                room_of room(block + spare);
                request.to = room.candidates();
                const auto progress = detail::kernels::run_unfused<pass>(
                    kernels::best_instruction_set(),
                    sotto::detail::kernels::plain_source{values.data()}, request);
                REQUIRE(progress.at > request.from);
                REQUIRE(progress.count == progress.at - request.from);
                for (std::size_t i = 0; i < progress.count; ++i)
                    REQUIRE(room.places[i] == request.from + i);
                found += progress.count;
                request.from = progress.at;
                ++stops;
            }
            CHECK(found == n);
            CHECK(stops > 2);
        }
}
