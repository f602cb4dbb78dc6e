#include "sotto/strategies/detail/gossip/state_snapshot.hpp"

#include <doctest/doctest.h>

#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "sotto/core/visit.hpp"

using namespace sotto;

namespace {

struct state {
    std::vector<float> values{1.0f, 2.0f};
    std::int64_t count = (std::int64_t{1} << 53) + 1;  // that no double has
    double distance = std::numeric_limits<double>::infinity();

    void visit(auto&& field) {
        field("values", std::span<float>(values));
        field("count", count, kept::own);
        field("distance", distance);
    }
    bool operator==(const state&) const = default;
};

}  // namespace

TEST_CASE("what is shown is put back to the last bit, as often as it is taken") {
    state one;
    const auto show = [&](auto&& field) { one.visit(field); };
    detail::state_snapshot snapshot;
    snapshot.put_back(show);  // nothing was taken
    CHECK(one == state{});
    for (int time = 0; time < 2; ++time) {
        snapshot.take(show);
        one = {{7.0f, 8.0f}, 3, 0.5};
        snapshot.put_back(show);
        CHECK(one == state{});
    }
    const state other{{7.0f, 8.0f}, 3, 0.5};
    one = other;
    snapshot.drop();  // the step took place
    snapshot.put_back(show);
    CHECK(one == other);
}
