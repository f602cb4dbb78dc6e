#include "sotto/strategies/detail/parameter_server/changed_entries.hpp"

#include <doctest/doctest.h>

#include <cstddef>
#include <cstdint>
#include <deque>
#include <iterator>
#include <optional>
#include <set>
#include <span>
#include <utility>
#include <vector>

#include "sotto/core/random.hpp"

using namespace sotto;

namespace {

using entries = std::vector<std::uint32_t>;

std::optional<entries> since(detail::changed_entries& changed, std::uint64_t version) {
    entries out;
    if (!changed.since(version, out)) return std::nullopt;
    return out;
}

}  // namespace

TEST_CASE("what has moved since a version is told ascending and each once") {
    detail::changed_entries changed(80);  // room for 10
    CHECK(since(changed, 0) == entries{});
    REQUIRE(changed.begin(1, 3));
    changed.add(0, entries{5, 9});
    changed.add(70, entries{4});
    REQUIRE(changed.begin(2, 3));
    changed.add_run(8, 3);
    CHECK(since(changed, 0) == entries{5, 8, 9, 10, 74});
    CHECK(since(changed, 1) == entries{8, 9, 10});
    CHECK(since(changed, 2) == entries{});
    changed.add_all(3);
    CHECK_FALSE(since(changed, 2));
    CHECK(since(changed, 3) == entries{});
    CHECK_FALSE(changed.begin(4, 11));
    CHECK_FALSE(since(changed, 3));
}

TEST_CASE("steps are known as long as there is room, wherever in it they end") {
    constexpr std::int64_t n = 200;
    detail::changed_entries changed(n);  // room for 25
    std::deque<std::pair<std::uint64_t, entries>> kept;
    random_stream random(1);
    for (std::uint64_t version = 1; version <= 500; ++version) {
        entries moved;
        for (std::uint64_t left = random.below(26); left > 0; --left)
            moved.push_back(static_cast<std::uint32_t>(random.below(n)));
        REQUIRE(changed.begin(version, moved.size()));
        const std::size_t half = moved.size() / 2;
        changed.add(0, std::span(moved).first(half));
        changed.add(0, std::span(moved).subspan(half));
        kept.emplace_back(version, moved);
        std::size_t together = 0;
        for (auto it = kept.rbegin(); it != kept.rend(); ++it) {
            together += it->second.size();
            if (together > n / 8) break;
            std::set<std::uint32_t> expected;
            for (auto later = kept.rbegin(); later != std::next(it); ++later)
                expected.insert(later->second.begin(), later->second.end());
            REQUIRE(since(changed, it->first - 1) == entries(expected.begin(), expected.end()));
        }
    }
}
