#include <doctest/doctest.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <stdexcept>
#include <string_view>
#include <vector>

#include "sotto/core/errors.hpp"
#include "sotto/transports/detail/messaging/ballot_transport.hpp"
#include "sotto/transports/group.hpp"
#include "sotto/transports/in_process.hpp"
#include "sotto/transports/metered.hpp"
#include "sotto/transports/run_in_process.hpp"

using namespace sotto;

namespace {

// A transport that has an agree for all only.
class without_ballots {
public:
    explicit without_ballots(in_process& inner) : inner_(&inner) {}

    int rank() const { return inner_->rank(); }
    int size() const { return inner_->size(); }
    request send(int to, tag label, byte_view out) { return inner_->send(to, label, out); }
    request receive(int from, tag label, mutable_byte_view in) {
        return inner_->receive(from, label, in);
    }
    std::optional<completion> poll(request r) { return inner_->poll(r); }
    completion wait(request r) { return inner_->wait(r); }
    std::uint64_t activity() { return inner_->activity(); }
    void await(std::uint64_t seen) { inner_->await(seen); }
    bool agree(bool vote) { return inner_->agree(vote); }
    void withdraw() noexcept { inner_->withdraw(); }
    void fail(std::string_view cause) noexcept { inner_->fail(cause); }
    void at(peer_failure::job_phase now) { inner_->at(now); }
    void reserve(std::int64_t count) { inner_->reserve(count); }
    time_point now() const { return inner_->now(); }
    void charge(work amount) { inner_->charge(amount); }
    traffic counters() const { return inner_->counters(); }

private:
    in_process* inner_;
};

static_assert(detail::ballot_transport<in_process>);
static_assert(detail::ballot_transport<metered<in_process>>);
static_assert(detail::ballot_transport<group>);
static_assert(transport<without_ballots> && !detail::ballot_transport<without_ballots>);

// Every color forms a group, numbered in the order of the world, whose messages and votes are its
// own.
template <class Parent>
void check_groups(Parent& world, int colors) {
    auto mine = split(world, world.rank() % colors);
    CHECK(mine.size() == (world.size() - world.rank() % colors + colors - 1) / colors);
    CHECK(mine.rank() == world.rank() / colors);
    CHECK(mine.parent_rank(mine.rank()) == world.rank());
    for (std::int32_t round = 0; round < 20; ++round) {
        std::int32_t own = 1000 * round + world.rank(), heard = -1;
        const request received =
            mine.receive(any_rank, {7, 0, 0}, std::as_writable_bytes(std::span(&heard, 1)));
        const request sent = mine.send((mine.rank() + 1) % mine.size(), {7, 0, 0},
                                       std::as_bytes(std::span(&own, 1)));
        CHECK(mine.wait(received).source == (mine.rank() + mine.size() - 1) % mine.size());
        CHECK(mine.wait(sent).source == mine.rank());
        CHECK(heard % 1000 % colors == world.rank() % colors);
        CHECK(heard / 1000 == round);
        // One rank of color 0 refuses, in turn.
        const bool refuses = world.rank() % colors == 0 && mine.rank() == round % mine.size();
        CHECK(mine.agree(!refuses) == (world.rank() % colors != 0));
    }
}

}  // namespace

TEST_CASE("split makes a group of each color, with numbers, messages and votes of its own") {
    for (const int colors : {1, 2, 3, 7}) {
        run_in_process(7, [&](in_process& world) { check_groups(world, colors); });
        run_in_process(7, [&](in_process& inner) {
            metered world(inner);
            check_groups(world, colors);
        });
    }
}

TEST_CASE("a group votes by messages where its parent has no ballots") {
    for (const int colors : {1, 2, 3, 7})
        run_in_process(7, [&](in_process& inner) {
            without_ballots world(inner);
            check_groups(world, colors);
        });
}

TEST_CASE("groups of groups, groups beside them and the world do not hear each other") {
    run_in_process(8, [&](in_process& world) {
        auto half = split(world, world.rank() / 4, 1);
        auto pair = split(half, half.rank() / 2, 1);
        auto across = split(world, world.rank() % 4, 2);
        CHECK(half.size() == 4);
        CHECK(pair.size() == 2);
        CHECK(across.size() == 2);
        std::vector<std::int32_t> heard(4);
        const auto ring = [&](auto& t, std::size_t level) {
            const auto memory = std::span(&heard[level], 1);
            const auto own = static_cast<std::int32_t>(100 * level) + world.rank();
            const request received =
                t.receive((t.rank() + 1) % t.size(), {3, 3, 3}, std::as_writable_bytes(memory));
            t.wait(t.send((t.rank() + t.size() - 1) % t.size(), {3, 3, 3},
                          std::as_bytes(std::span(&own, 1))));
            t.wait(received);
        };
        for (int i = 0; i < 20; ++i) {
            // The first ring's messages are posted by some while others are still in another one.
            if (i % 2 == 0)
                ring(pair, 0), ring(half, 1), ring(across, 2), ring(world, 3);
            else
                ring(world, 3), ring(across, 2), ring(half, 1), ring(pair, 0);
            CHECK(heard[0] == (world.rank() ^ 1));
            CHECK(heard[1] == 100 + world.rank() / 4 * 4 + (world.rank() + 1) % 4);
            CHECK(heard[2] == 200 + (world.rank() + 4) % 8);
            CHECK(heard[3] == 300 + (world.rank() + 1) % 8);
            CHECK(pair.agree(true));
            CHECK(half.agree(world.rank() < 4) == (world.rank() < 4));
        }
    });
}

TEST_CASE("a failure in one group ends the others, who name the rank of the world") {
    std::atomic<int> told = 0;
    CHECK_THROWS_AS(run_in_process(6,
                                   [&](in_process& world) {
                                       auto mine = split(world, world.rank() / 3);
                                       world.agree(true);
                                       if (world.rank() == 4) throw std::domain_error("gone");
                                       try {
                                           while (true) mine.agree(true);
                                       } catch (const peer_failure& e) {
                                           CHECK(e.rank() == 4);
                                           ++told;
                                           throw;
                                       }
                                   }),
                    std::domain_error);
    CHECK(told == 5);
}

TEST_CASE("a group refuses labels, members and channels that cannot work") {
    run_in_process(2, [](in_process& t) {
        using members = std::vector<int>;
        CHECK_THROWS_AS(group(t, members{0, 1}, 0), invalid_option);
        CHECK_THROWS_AS(group(t, members{0, 1}, 256), invalid_option);
        CHECK_THROWS_AS(group(t, members{1, 0}), invalid_option);
        CHECK_THROWS_AS(group(t, members{0, 2}), invalid_option);
        CHECK_THROWS_AS(group(t, members{1 - t.rank()}), invalid_option);
        group both(t, members{0, 1});
        CHECK_THROWS_AS((void)both.send(0, {65536, 0, 0}, {}), invalid_option);
        // Above 2^24 lie the channels of groups of this one.
        CHECK_THROWS_AS((void)both.send(0, {1u << 24, 0, 0}, {}), invalid_option);
        CHECK_THROWS_AS((void)both.receive(0, {1u << 24, 0, 0}, {}), invalid_option);
        group inner(both, members{0, 1});
        CHECK_THROWS_AS((void)inner.send(0, {65536, 0, 0}, {}), invalid_option);
        CHECK_THROWS_AS((void)inner.receive(0, {1u << 24, 0, 0}, {}), invalid_option);
        CHECK_THROWS_AS((void)both.send(2, {}, {}), invalid_option);
        CHECK_THROWS_AS((void)both.receive(-2, {}, {}), invalid_option);
    });
}
