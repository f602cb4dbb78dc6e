#include "sotto/transports/detail/messaging/tag_lists.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

using sotto::tag;
using sotto::detail::tag_lists;

namespace {

struct entry {
    tag label{};
    int number = 0;
    bool linked = false;
    entry *before = nullptr, *after = nullptr;
};

/// Numbers of the entries with this tag, in the order of their list.
std::vector<int> numbers_of(const tag_lists<entry>& lists, const tag& label) {
    std::vector<int> found;
    for (const entry* e = lists.of(label).first(); e; e = e->after)
        if (e->label == label) found.push_back(e->number);
    return found;
}

/// A tag whose round or whose item is this number.
tag label_of(std::size_t number, bool by_round) {
    if (by_round) return {2, 0, number};
    return {2, static_cast<std::uint32_t>(number), 0};
}

}  // namespace

TEST_CASE("tag_lists: more room -> entries of each tag stay in their order") {
    constexpr std::size_t tags = 90;
    for (const bool by_round : {false, true}) {
        CAPTURE(by_round);
        std::vector<entry> all(10 * tags);
        std::vector<std::vector<int>> expected(tags);
        tag_lists<entry> lists;
        int number = 0;
        for (entry& e : all) {
            const auto which = static_cast<std::size_t>(number) % tags;
            e.label = label_of(which, by_round);
            e.number = number++;
            lists.of(e.label).push_back(e);
            expected[which].push_back(e.number);
        }
        for (const std::size_t room : {std::size_t{0}, all.size(), std::size_t{100'000}}) {
            CAPTURE(room);
            lists.reserve(room);
            for (std::size_t which = 0; which < tags; ++which)
                CHECK(numbers_of(lists, label_of(which, by_round)) == expected[which]);
        }
    }
}

TEST_CASE("tag_lists: room for as many entries as tags -> few in each list") {
    constexpr std::size_t count = 8192;
    for (const bool by_round : {false, true}) {
        CAPTURE(by_round);
        std::vector<entry> all(count);
        tag_lists<entry> lists;
        lists.reserve(count);
        for (std::size_t i = 0; i < count; ++i) {
            all[i].label = label_of(i, by_round);
            lists.of(all[i].label).push_back(all[i]);
        }
        std::size_t longest = 0;
        for (std::size_t i = 0; i < count; i += 16) {
            std::size_t length = 0;
            for (const entry* e = lists.of(all[i].label).first(); e; e = e->after) ++length;
            longest = std::max(longest, length);
        }
        CHECK(longest < 16);
    }
}
