#include "sotto/strategies/detail/gossip/wait_progress.hpp"

#include <doctest/doctest.h>

#include <cstdint>

#include "sotto/wire/detail/protocols/gossip_word.hpp"

using namespace sotto;
using detail::wire::gossip_kind;
using detail::wire::gossip_place;

namespace {

detail::wire::gossip_word word(gossip_kind kind, std::uint64_t fit, gossip_place at,
                               bool waits = false) {
    return {
        .kind = kind, .waits = waits, .is_done = kind == gossip_kind::done, .fit = fit, .at = at};
}

}  // namespace

TEST_CASE("what a rank says counts once it is further: a call, a step, a round, in it, and done") {
    detail::wait_progress all(3);
    std::int64_t count = 0;
    const auto tells = [&](const detail::wire::gossip_word& w) {
        all.tells(1, w);
        const bool counts = all.count() != count;
        count = all.count();
        return counts;
    };
    CHECK(tells(word(gossip_kind::hello, 1, {})));
    CHECK(tells(word(gossip_kind::begins, 1, {0, 1}, true)));
    CHECK_FALSE(tells(word(gossip_kind::begins, 1, {0, 1}, false)));
    CHECK_FALSE(tells(word(gossip_kind::stands, 1, {0, 1}, false)));
    CHECK(tells(word(gossip_kind::stands, 1, {0, 1}, true)));
    CHECK(tells(word(gossip_kind::begins, 1, {0, 2})));
    CHECK(tells(word(gossip_kind::begins, 1, {1, 1})));
    CHECK(tells(word(gossip_kind::done, 1, {1, 1})));
    CHECK(tells(word(gossip_kind::hello, 2, {1, 1})));
    CHECK_FALSE(tells(word(gossip_kind::here, 2, {1, 1})));
}

TEST_CASE("a rank that comes again and again, and never further, counts no more") {
    detail::wait_progress all(3);
    std::int64_t before = -1;
    for (int life = 0; life < 4; ++life) {
        CAPTURE(life);
        before = all.count();
        all.tells(2, word(gossip_kind::hello, 1, {}));
        all.tells(2, word(gossip_kind::begins, 1, {7, 1}));
        all.goes(2);
        CHECK((all.count() == before) == (life > 0));
    }
    all.tells(2, word(gossip_kind::begins, 1, {8, 1}));
    CHECK(all.count() == before + 1);
    all.goes(2);
    CHECK(all.count() == before + 2);
    all.goes(1);  // of which nothing was known
    all.goes(1);
    CHECK(all.count() == before + 3);
    all.comes();
    CHECK(all.count() == before + 4);
}
