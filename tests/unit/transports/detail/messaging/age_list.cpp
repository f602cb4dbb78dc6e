#include "sotto/transports/detail/messaging/age_list.hpp"

#include <doctest/doctest.h>

#include <array>
#include <cstddef>
#include <vector>

using sotto::detail::age_list;

namespace {

struct transfer {
    int number = 0;
    bool sends = false;
    transfer *older = nullptr, *newer = nullptr;
};

/// Transfers that are numbered from the oldest to the newest.
struct numbered {
    std::array<transfer, 4> all{};
    age_list<transfer> list{};

    numbered() {
        int number = 0;
        for (transfer& t : all) {
            t.number = number++;
            list.add(t);
        }
    }
    /// Numbers in the list, the oldest first. At most 10: wrong links may form a ring.
    std::vector<int> in_order() const {
        std::vector<int> found;
        for (const transfer* t = list.oldest(); t && found.size() < 10; t = t->newer)
            found.push_back(t->number);
        return found;
    }
};

}  // namespace

TEST_CASE("age_list: a transfer removed anywhere -> the others stay in order") {
    for (std::size_t removed = 0; removed < 4; ++removed) {
        CAPTURE(removed);
        numbered transfers;
        std::vector<int> expected{0, 1, 2, 3};
        CHECK(transfers.in_order() == expected);
        expected.erase(expected.begin() + static_cast<std::ptrdiff_t>(removed));
        transfers.list.remove(transfers.all[removed]);
        CHECK(transfers.in_order() == expected);
        transfers.list.add(transfers.all[removed]);  // its memory is used again
        expected.push_back(static_cast<int>(removed));
        CHECK(transfers.in_order() == expected);
    }
}

TEST_CASE("age_list: all transfers removed -> empty, and another one is the oldest") {
    numbered transfers;
    for (transfer& t : transfers.all) transfers.list.remove(t);
    CHECK(transfers.list.oldest() == nullptr);
    transfers.list.add(transfers.all[2]);
    CHECK(transfers.in_order() == std::vector<int>{2});
}

TEST_CASE("age_list: longest_waiting -> the oldest receive, or else the oldest send") {
    numbered transfers;
    transfers.all[0].sends = transfers.all[1].sends = true;
    const auto longest_from = [&](int first) {
        const transfer* const found =
            transfers.list.longest_waiting([&](const transfer& t) { return t.number >= first; });
        return found ? found->number : -1;
    };
    CHECK(longest_from(0) == 2);
    CHECK(longest_from(3) == 3);
    CHECK(longest_from(4) == -1);
    for (transfer& t : transfers.all) t.sends = true;
    CHECK(longest_from(0) == 0);
    CHECK(longest_from(1) == 1);
}
