#include "sotto/collectives/detail/stripes.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <vector>

using namespace sotto::collectives;
using namespace sotto::detail::collectives;

namespace {

std::vector<std::uint32_t> elements(std::uint32_t first, std::uint32_t count,
                                    std::uint32_t distance = 1) {
    std::vector<std::uint32_t> found(count);
    for (std::uint32_t k = 0; k < count; ++k) found[k] = first + k * distance;
    return found;
}

/// How many of the elements each rank gets.
std::vector<std::int64_t> shares(const stripes& owners, int ranks,
                                 const std::vector<std::uint32_t>& of) {
    std::vector<std::int64_t> counts(static_cast<std::size_t>(ranks));
    owners.for_each(of, [&](std::size_t, int rank, std::uint32_t) {
        ++counts[static_cast<std::size_t>(rank)];
    });
    return counts;
}

}  // namespace

TEST_CASE("every element has one owner and one place there, and comes back from it") {
    for (const int ranks : {1, 2, 3, 4, 5, 7, 8, 9, 16, 100})
        for (const std::uint32_t n : {0u, 1u, 2u, 63u, 64u, 65u, 700u, 4096u, 66'000u}) {
            const stripes owners(n, ranks);
            std::vector<std::int64_t> last(static_cast<std::size_t>(ranks), -1);
            std::size_t seen = 0;
            bool right = true;
            owners.for_each(elements(0, n), [&](std::size_t k, int rank, std::uint32_t place) {
                auto& before = last[static_cast<std::size_t>(rank)];
                right = right && rank >= 0 && rank < ranks && place < owners.places() &&
                        place > before && owners.element(rank, place) == k;
                before = place;
                ++seen;
            });
            CHECK(right);
            CHECK(seen == n);
            // No other places lie within the tensor.
            std::uint64_t within = 0;
            for (int rank = 0; rank < ranks; ++rank)
                for (std::int64_t place = 0; place < owners.places(); ++place)
                    within += owners.element(rank, static_cast<std::uint32_t>(place)) < n ? 1 : 0;
            CHECK(within == n);
        }
}

TEST_CASE("places beyond the tensor come after all that are in it") {
    for (const int ranks : {2, 3, 9})
        for (std::uint32_t n = 1; n < 300; n += 7) {
            const stripes owners(n, ranks);
            for (int rank = 0; rank < ranks; ++rank) {
                bool beyond = false;
                for (std::int64_t place = 0; place < owners.places(); ++place) {
                    const bool in = owners.element(rank, static_cast<std::uint32_t>(place)) < n;
                    CHECK_FALSE((in && beyond));
                    beyond = beyond || !in;
                }
            }
        }
}

TEST_CASE("elements that lie together are shared out evenly, and so are those at equal distances") {
    constexpr std::uint32_t n = 1 << 22;
    for (const int ranks : {2, 3, 4, 9, 16, 64}) {
        const stripes owners(n, ranks);
        for (const std::uint32_t first : {0u, 12'345u, n - 100'000u}) {
            const auto counts = shares(owners, ranks, elements(first, 100'000));
            const auto [least, most] = std::minmax_element(counts.begin(), counts.end());
            CHECK(*most - *least <= 128);  // a stripe at either end
        }
        // Columns of matrices: whatever the distance, no rank gets half as much again as its share.
        for (const std::uint32_t distance : {2u, 10u, 64u, 100u, 128u, 512u, 1024u}) {
            const std::uint32_t count = n / distance;
            if (count < 200u * static_cast<std::uint32_t>(ranks)) continue;
            const auto counts = shares(owners, ranks, elements(0, count, distance));
            CHECK(*std::max_element(counts.begin(), counts.end()) * ranks <
                  static_cast<std::int64_t>(count) * 3 / 2);
        }
    }
}

TEST_CASE("tensors of 2^32 elements can be divided") {
    constexpr std::int64_t n = std::int64_t{1} << 32;
    for (const int ranks : {1, 3, 16}) {
        const stripes owners(n, ranks);
        const std::vector<std::uint32_t> some{0, 1, 1u << 31, 0xFFFFFFFEu, 0xFFFFFFFFu};
        owners.for_each(some, [&](std::size_t k, int rank, std::uint32_t place) {
            CHECK(owners.element(rank, place) == some[k]);
            CHECK(place < owners.places());
        });
    }
}
