#include "sotto/collectives/measured.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>
#include <type_traits>
#include <vector>

#include "sotto/collectives/detail/fitting.hpp"
#include "sotto/core/describe.hpp"
#include "sotto/transports/metered.hpp"
#include "sotto/transports/run_in_process.hpp"
#include "support/generators.hpp"
#include "support/throttled.hpp"

using namespace sotto;
using namespace sotto::collectives;
using namespace sotto::detail::collectives;

namespace {

/// A transport whose clock is not time but what was sent through it: so much a message, so much a
/// byte. What is fastest is then a matter of counting.
class counted : public metered<in_process> {
public:
    counted(in_process& inner, std::int64_t of_a_message, std::int64_t of_a_byte)
        : metered<in_process>(inner), of_a_message_(of_a_message), of_a_byte_(of_a_byte) {}

    time_point now() const {
        const traffic all = counters();
        return time_point(std::chrono::duration_cast<time_point::duration>(std::chrono::nanoseconds(
            of_a_message_ * all.messages_sent + of_a_byte_ * all.bytes_sent)));
    }

private:
    std::int64_t of_a_message_;
    std::int64_t of_a_byte_;
};

}  // namespace

static_assert(summing<measured> && transport<counted>);

TEST_CASE("where messages cost time and bytes do not, all ranks choose what has the fewest") {
    // The busiest rank sends by a ring 2(N-1) = 6 messages, by halves 2 log2 N = 4, by a tree as
    // root or as rank 2 at most 2: one for each child, or for its child and its parent. As few as
    // by recursive doubling, but they come one after the other: see below.
    run_in_process(4, [](in_process& inner) {
        counted t(inner, 1000, 0);
        CHECK(fastest_all_reduce(t, 64) == algorithm::tree);
        CHECK(fastest_all_reduce(t, 64, 1, wire::value_format::bf16) == algorithm::tree);
    });
}

TEST_CASE("where bytes cost time and messages do not, a tree loses and equals go to the first") {
    // Ring and halves send 2 (N-1)/N of the values, the tree's root twice all of them, as do all
    // ranks by recursive doubling.
    run_in_process(4, [](in_process& inner) {
        counted t(inner, 0, 10);
        CHECK(fastest_all_reduce(t, 64) == algorithm::ring);
    });
}

TEST_CASE("where steps cost time, recursive doubling is chosen, but not for halves") {
    // Of 1 ms each by virtual time: 2 for four ranks by recursive doubling, 4 by tree and halves.
    for (const auto format : {wire::value_format::fp32, wire::value_format::fp16}) {
        testing::slow_network network(4, 1e9, 0.001);
        run_in_process(4, [&](in_process& inner) {
            testing::throttled t(inner, network);
            const bool whole = format == wire::value_format::fp32;
            CHECK((fastest_all_reduce(t, 64, 3, format) == algorithm::recursive_doubling) == whole);
        });
    }
}

TEST_CASE("ranks whose clocks differ choose alike: the slowest counts") {
    // Rank 1 alone finds that messages take time. By its clock a tree is best.
    for (const bool slow : {false, true})
        run_in_process(4, [&](in_process& inner) {
            counted t(inner, slow && inner.rank() == 2 ? 1'000'000 : 0, 10);
            CHECK(fastest_all_reduce(t, 64) == (slow ? algorithm::tree : algorithm::ring));
        });
}

TEST_CASE("what was measured sums like any other, in every format") {
    for (const int world : {1, 2, 3})
        for (const auto format : {wire::value_format::fp32, wire::value_format::fp16})
            run_in_process(world, [&](in_process& t) {
                auto sum = measured{.rounds = 1}.bind(t, 100, format);
                auto values = testing::integer_values(100, 1);
                auto expected = values;
                for (float& v : expected) v *= static_cast<float>(world);
                sum.start(values, {1, 0, 0});
                run(t, sum);
                CHECK(values == expected);
            });
}

TEST_CASE("nothing is measured where there is nothing to choose, nor by no rounds") {
    run_in_process(1, [](in_process& t) {
        CHECK(fastest_all_reduce(t, 100) == algorithm::automatic);
        CHECK_THROWS_AS(fastest_all_reduce(t, 100, 0), invalid_option);
        CHECK_THROWS_AS((measured{.rounds = -1}.bind(t, 100)), invalid_option);
    });
    run_in_process(2, [](in_process& inner) {
        metered t(inner);
        CHECK(fastest_all_reduce(t, 0) == algorithm::automatic);
        CHECK(t.counters().messages_sent == 0);
    });
}

TEST_CASE("that a choice is measured is part of what ranks compare") {
    const std::string text = detail::description{}.add("collective", measured{.rounds = 5}).text();
    CHECK(text.find("measured") != std::string::npos);
    CHECK(text.find("collective.rounds = 5") != std::string::npos);
}
