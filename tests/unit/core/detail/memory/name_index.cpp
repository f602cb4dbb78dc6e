#include "sotto/core/detail/memory/name_index.hpp"

#include <doctest/doctest.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "sotto/core/layout.hpp"

using sotto::detail::name_index;

namespace {

/// Names, and how many of them were compared to find others.
struct names {
    std::vector<std::string> all{};
    name_index index{};
    mutable std::int64_t compared = 0;

    void add(std::string name) {
        index.reserve_one();
        all.push_back(std::move(name));
        index.add(all.back());
    }
    std::optional<std::size_t> find(std::string_view name) const {
        return index.find(name, [&](std::size_t number) -> std::string_view {
            ++compared;
            return all[number];
        });
    }
};

std::string name_of(std::size_t number) {
    return "layers." + std::to_string(number / 8) + ".experts." + std::to_string(number % 8);
}

}  // namespace

TEST_CASE("name_index: 20,000 names -> each found by comparing few others") {
    names some;
    constexpr std::size_t count = 20000;
    for (std::size_t i = 0; i < count; ++i) {
        REQUIRE_FALSE(some.find(name_of(i)));
        some.add(name_of(i));
    }
    for (std::size_t i = 0; i < count; ++i) REQUIRE(some.find(name_of(i)) == i);
    CHECK_FALSE(some.find("layers"));
    CHECK_FALSE(some.find(""));
    // Each is compared with itself once, and with others only where 32 bits of the hash are equal.
    CHECK(some.compared < 2 * static_cast<std::int64_t>(count));
}

TEST_CASE("name_index: a copy -> finds what the copied one held") {
    names some;
    some.add("a");
    const name_index copy = some.index;
    some.add("b");
    const auto name = [&](std::size_t number) -> std::string_view { return some.all[number]; };
    CHECK(copy.find("a", name) == 0);
    CHECK_FALSE(copy.find("b", name));
}

TEST_CASE("layout: 20,000 tensors -> each found by name, in copies, too") {
    sotto::layout tensors;
    for (std::size_t i = 0; i < 20000; ++i) tensors.add(name_of(i), {1});
    const sotto::layout copy = tensors;
    for (std::size_t i = 0; i < 20000; i += 7) {
        REQUIRE(copy.find(name_of(i)) == &copy.tensors()[i]);
        REQUIRE_THROWS_AS(tensors.add(name_of(i), {1}), sotto::invalid_option);
    }
    CHECK(copy.find("another") == nullptr);
    CHECK(tensors.tensors().size() == 20000);
}
