#include "sotto/transports/detail/messaging/membership.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <numeric>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "sotto/core/random.hpp"

using namespace sotto;
using namespace sotto::detail::net;
using namespace std::chrono_literals;

namespace {

constexpr std::uint64_t seed_between(int from, int to) {
    return static_cast<std::uint64_t>(from * 1000 + to);
}

// Ranks on virtual time whose frames take as long as they like, in order. A rank that is killed
// leaves behind what it had sent, or only the first part of it; one that hangs says nothing more.
class voting_world {
public:
    voting_world(int size, std::uint64_t seed) : random_(seed) {
        everyone_.resize(static_cast<std::size_t>(size));
        std::iota(everyone_.begin(), everyone_.end(), 0);
        for (int rank = 0; rank < size; ++rank) {
            ranks_.push_back(std::make_unique<member>(
                member{{rank, size, 3, {}, seed_between, now_}, nullptr, 0, {}, false, false}));
            at(rank).ballot = &at(rank).state.open(everyone_, 5);
        }
    }

    struct member {
        membership state;
        membership::ballot* ballot;
        std::uint64_t poll;          // that it voted in last
        std::vector<bool> verdicts;  // of polls it has seen complete
        bool killed;
        bool hangs;
    };

    member& at(int rank) { return *ranks_[static_cast<std::size_t>(rank)]; }
    int size() const { return static_cast<int>(ranks_.size()); }
    random_stream& random() { return random_; }
    bool lives(int rank) { return !at(rank).killed && !at(rank).hangs; }

    void vote(int rank) {
        at(rank).poll = at(rank).state.vote(*at(rank).ballot, random_.below(4) != 0);
    }

    /// Votes again wherever a poll is complete and nobody is known to have failed.
    void act(int rank) {
        member& m = at(rank);
        while (m.verdicts.size() < m.ballot->completed) {
            m.verdicts.push_back(m.ballot->verdict);
            REQUIRE(m.verdicts.size() == m.ballot->completed);
        }
        if (m.state.first_failure()) return;
        if (m.poll < m.ballot->completed) vote(rank);
        const int absent = m.state.first_absent(*m.ballot);
        if (absent >= 0 && m.state.of(absent) == membership::standing::left)
            m.state.fail(absent, "it left");
    }

    void kill(int rank) {
        at(rank).killed = true;
        for (int other = 0; other < size(); ++other) {
            if (other == rank) continue;
            collect(rank, other);
            bytes& pipe = pipes_[{rank, other}];
            pipe.resize(random_.below(pipe.size() + 1));
        }
    }

    /// All that it had to say arrives some time.
    void leave(int rank) {
        at(rank).state.leave();
        for (int other = 0; other < size(); ++other)
            if (other != rank) collect(rank, other);
        at(rank).killed = true;
    }

    /// Some bytes go on their way from a to b.
    void move(int a, int b) {
        if (at(a).hangs || at(b).hangs || at(b).killed) return;
        if (!at(a).killed) collect(a, b);
        bytes& pipe = pipes_[{a, b}];
        const auto count = static_cast<std::ptrdiff_t>(random_.below(pipe.size() + 1));
        at(b).state.received(a, byte_view(pipe).first(static_cast<std::size_t>(count)), now_);
        at(b).state.count_votes();
        pipe.erase(pipe.begin(), pipe.begin() + count);
        if (pipe.empty() && at(a).killed) at(b).state.closed(a, "it closed the connection");
        act(b);
    }

    void pass(duration time) {
        now_ += time;
        for (int rank = 0; rank < size(); ++rank)
            if (lives(rank)) at(rank).state.tick(now_);
    }

    bool settled() {
        for (int rank = 0; rank < size(); ++rank)
            if (lives(rank) && !at(rank).state.settled()) return false;
        return true;
    }

private:
    void collect(int from, int to) {
        control_stream& stream = at(from).state.stream(to);
        const byte_view out = stream.output();
        bytes& pipe = pipes_[{from, to}];
        pipe.insert(pipe.end(), out.begin(), out.end());
        stream.written(out.size());
    }

    random_stream random_;
    time_point now_{};
    std::vector<int> everyone_;
    std::vector<std::unique_ptr<member>> ranks_;
    std::map<std::pair<int, int>, bytes> pipes_;
};

}  // namespace

TEST_CASE(
    "whatever fails whenever, all survivors see the same polls complete, and name who failed") {
    int with_adoption = 0;
    for (std::uint64_t seed = 0; seed < 1500; ++seed) {
        CAPTURE(seed);
        random_stream choose(seed + 77);
        const int size = 2 + static_cast<int>(choose.below(5));
        voting_world world(size, seed);
        const auto pick = [&] {
            return static_cast<int>(choose.below(static_cast<unsigned>(size)));
        };
        for (int rank = 0; rank < size; ++rank) world.vote(rank);
        const auto failures =
            std::min<std::uint64_t>(1 + choose.below(3), static_cast<unsigned>(size - 1));
        std::vector<int> failed, left;
        std::vector<bool> before(static_cast<std::size_t>(size));
        const auto step = [&] {
            const int a = pick(), b = pick();
            if (a != b) world.move(a, b);
            if (choose.below(50) == 0) world.pass(10ms);
        };
        for (std::uint64_t steps = choose.below(400); steps > 0; --steps) step();
        for (std::uint64_t f = 0; f < failures; ++f) {
            const int victim = pick();
            if (!world.lives(victim)) continue;
            failed.push_back(victim);
            switch (choose.below(4)) {
                case 0: world.at(victim).hangs = true; break;
                case 1:
                    world.leave(victim);
                    left.push_back(victim);
                    break;
                default: world.kill(victim);
            }
            for (std::uint64_t steps = choose.below(60); steps > 0; --steps) step();
        }
        std::vector<std::uint64_t> completed;
        for (int rank = 0; rank < size; ++rank)
            if (world.lives(rank)) completed.push_back(world.at(rank).ballot->completed);
        for (int rounds = 0; rounds < 200 && !world.settled(); ++rounds) {
            for (int steps = 0; steps < 40 * size; ++steps) step();
            world.pass(100ms);
        }
        REQUIRE(world.settled());
        const std::vector<bool>* verdicts = nullptr;
        for (int rank = 0; rank < size; ++rank) {
            if (!world.lives(rank)) continue;
            world.act(rank);
            const auto& m = world.at(rank);
            if (!verdicts) verdicts = &m.verdicts;
            CHECK(m.verdicts == *verdicts);
            const int named = m.state.first_failure()->rank;
            CHECK(std::find(failed.begin(), failed.end(), named) != failed.end());
            if (failed.size() == 1) CHECK(named == failed.front());
        }
        for (const int rank : left) {
            const auto& seen = world.at(rank).verdicts;
            CHECK(
                (verdicts == nullptr || (seen.size() <= verdicts->size() &&
                                         std::equal(seen.begin(), seen.end(), verdicts->begin()))));
        }
        std::sort(completed.begin(), completed.end());
        with_adoption += completed.front() != completed.back() ? 1 : 0;
    }
    CHECK(with_adoption > 20);  // the difficult case is among them
}

TEST_CASE("without failures polls go on for ever, each with the verdict of all votes") {
    voting_world world(4, 1);
    for (int rank = 0; rank < 4; ++rank) world.vote(rank);
    random_stream& random = world.random();
    for (int steps = 0; steps < 20000; ++steps) {
        const int a = static_cast<int>(random.below(4)), b = static_cast<int>(random.below(4));
        if (a != b) world.move(a, b);
    }
    const auto& reference = world.at(0).verdicts;
    CHECK(reference.size() > 100);
    for (int rank = 1; rank < 4; ++rank) {
        const auto& verdicts = world.at(rank).verdicts;
        const std::size_t both = std::min(verdicts.size(), reference.size());
        CHECK(std::max(verdicts.size(), reference.size()) <= both + 1);
        CHECK(std::equal(verdicts.begin(), verdicts.begin() + static_cast<std::ptrdiff_t>(both),
                         reference.begin()));
    }
}

TEST_CASE("a rank that says in one breath that it gave this one up and that it failed went once") {
    const auto now = time_point{};
    membership here(0, 2, 3, {}, seed_between, now), there(1, 2, 3, {}, seed_between, now);
    here.tolerate();
    control_stream& words = there.stream(0);
    for (const std::uint32_t gone : {0u, 1u}) {
        bytes report;
        detail::wire::append_report({gone, 0, "it was silent", {gone}, {}}, report);
        words.send({.type = detail::wire::frame_type::report}, report);
    }
    here.received(1, words.output(), now);
    const auto first = here.next_gone();
    REQUIRE(first);
    CHECK(first->rank == 1);
    CHECK(first->cause == "it has given this rank up: it was silent");
    CHECK_FALSE(here.next_gone());
}

TEST_CASE("membership: a cause from another rank -> one line without controls") {
    const std::string shown = "ok\\nrank 9 failed: lies\\x1b[2J";
    for (const bool tolerates : {false, true}) {
        voting_world world(2, 1);
        membership &told = world.at(0).state, &failed = world.at(1).state;
        if (tolerates) told.tolerate(), failed.tolerate();
        failed.fail(1, "ok\nrank 9 failed: lies\x1b[2J");
        std::optional<membership::failure> found;
        for (int turn = 0; turn < 100 && !found; ++turn) {
            world.move(1, 0);
            found = tolerates ? told.next_gone() : told.first_failure();
        }
        REQUIRE(found);
        CHECK(found->rank == 1);
        CHECK(found->cause == shown);
    }
}

namespace {

/// Rank 0 of a job of two as its options describe it, in time that a test lets pass.
class listening_rank {
public:
    explicit listening_rank(liveness_options options = {.transport = "tcp"})
        : options_(options),
          state_(0, 2, 3, options, seed_between, now_),
          other_(1, 2, 3, options, seed_between, now_) {}

    time_point now() const { return now_; }
    const std::optional<membership::failure>& failed() const { return state_.first_failure(); }

    /// A heartbeat of the other rank comes, which heard this one.
    void hear() {
        deliver(state_, 0, other_, 1, now_ += 1ns);
        other_.tick(now_);
        other_.tick(now_ + options_.period());
        deliver(other_, 1, state_, 0, now_);
        CHECK_FALSE(failed());
    }

    /// Looks as often as heartbeats are due, for so long or until the other rank is missed; returns
    /// how long that took.
    duration look(duration most, const std::function<path_facts(duration)>& path = {}) {
        const time_point began = now_;
        while (!failed() && now_ < began + most) {
            now_ = std::min(began + most, now_ + 50ms);
            if (path && state_.is_overdue(1, now_)) state_.observe(1, path(now_ - began), now_);
            state_.tick(now_);
        }
        return now_ - began;
    }

    void halt(duration lasts) { now_ += lasts; }

private:
    static void deliver(membership& from, int sender, membership& to, int receiver, time_point at) {
        const byte_view out = from.stream(receiver).output();
        to.received(sender, out, at);
        from.stream(receiver).written(out.size());
    }

    liveness_options options_;
    time_point now_{};
    membership state_, other_;
};

path_facts still(duration) {
    return {.segments = 7};
}

}  // namespace

TEST_CASE("membership: silence without a queue -> missed after dead_after, which is named") {
    listening_rank rank;
    rank.hear();
    CHECK(rank.look(1h, still) == 2050ms);
    REQUIRE(rank.failed());
    CHECK(rank.failed()->rank == 1);
    CHECK(rank.failed()->cause ==
          "no sign of life from it for 2 s: it hangs, or the network to it is cut; "
          "tcp_options::dead_after sets the limit");
}

TEST_CASE("membership: many ranks -> rarer signs of life, four of them within the limit") {
    using sotto::detail::net::liveness_options;
    CHECK(liveness_options{.ranks = 33}.period() == 250ms);
    CHECK(liveness_options{.ranks = 129}.period() == 1s);
    CHECK(liveness_options{.ranks = 65}.silence() == 2s);
    CHECK(liveness_options{.ranks = 129}.silence() == 4s);
    CHECK(liveness_options{.dead_after = 9s, .ranks = 129}.silence() == 9s);
    CHECK(liveness_options{.dead_after = {}, .ranks = 129}.silence() == duration::zero());
    listening_rank rank({.transport = "tcp", .ranks = 129});
    rank.hear();
    CHECK(rank.look(1h, still) == 4050ms);
    REQUIRE(rank.failed());
    CHECK(rank.failed()->cause ==
          "no sign of life from it for 4 s: it hangs, or the network to it is cut; "
          "tcp_options::dead_after, 2 s and at least four times the time between signs of life of "
          "129 ranks, 1 s, sets the limit, 3 times itself at most");
}

TEST_CASE("membership: a system that may delay acknowledgements -> the limit is dead_after") {
    listening_rank rank;
    rank.hear();
    CHECK(rank.look(1h, [](duration) { return path_facts{.segments = 7, .round_trip = 200ms}; }) ==
          2050ms);
}

TEST_CASE("membership: content comes while frames are overdue -> alive until it ends") {
    listening_rank rank;
    rank.hear();
    const auto flows = [](duration since) {
        return path_facts{.segments =
                              static_cast<std::uint64_t>(std::min<duration>(since, 1min) / 1s)};
    };
    CHECK(rank.look(1h, flows) == 1min + 2050ms);
    CHECK(rank.failed());
}

TEST_CASE("membership: content came before the silence -> it is no sign of life of the silence") {
    listening_rank rank;
    rank.hear();
    rank.look(1s, still);
    rank.hear();
    CHECK(rank.look(1h, [](duration) { return path_facts{.segments = 9}; }) == 2050ms);
}

TEST_CASE("membership: a measured delay -> the limit grows by 4 times that, 3 times at most") {
    struct expected {
        duration round_trip, limit;
    };
    for (const expected e : {expected{300ms, 2400ms}, {700ms, 4s}, {1200ms, 6s}, {10s, 6s}}) {
        CAPTURE(e.round_trip.count());
        listening_rank rank;
        rank.hear();
        const auto slow = [&](duration) {
            return path_facts{.segments = 7, .round_trip = e.round_trip};
        };
        CHECK(rank.look(1h, slow) == e.limit + 50ms);
        REQUIRE(rank.failed());
        CHECK(rank.failed()->cause.find("tcp_options::dead_after, 2 s, plus 4 x the measured") !=
              std::string::npos);
    }
}

TEST_CASE("membership: a link that is down for 1.6 s -> it is waited for until the next attempt") {
    listening_rank rank;
    rank.hear();
    rank.look(249ms);  // the next heartbeat is lost, and sent again after 0.2, 0.4, ... 1.4, 1.8 s
    const auto again = [](duration since) {
        const bool is_late = since > 1400ms;
        return path_facts{.segments = 7, .retransmission = is_late ? 400ms : 204ms};
    };
    CHECK(rank.look(1850ms, again) == 1850ms);
    rank.hear();
    // Where it stays down.
    CHECK(rank.look(1h, again) == 3050ms);
    REQUIRE(rank.failed());
    CHECK(rank.failed()->cause ==
          "no sign of life from it for 3 s: it hangs, or the network to it is cut; "
          "tcp_options::dead_after, 2 s, as what is sent to it is lost plus 1 s, sets the "
          "limit, 3 times itself at most");
}

TEST_CASE(
    "membership: this rank's next attempt came through -> the other's is waited for as long") {
    listening_rank rank;
    rank.hear();
    const auto again = [](duration since) {
        return path_facts{.segments = 7, .retransmission = since < 1800ms ? 1600ms : 0ms};
    };
    CHECK(rank.look(3550ms, again) == 3550ms);
    rank.hear();
    // That of another silence does not count.
    CHECK(rank.look(1h, still) == 2050ms);
}

TEST_CASE("membership: before its first sign of life -> the clock of a rank does not run") {
    listening_rank rank({.first_sign = 30s, .transport = "tcp"});
    CHECK(rank.look(29s) == 29s);
    rank.hear();
    CHECK(rank.look(1h) == 2050ms);

    listening_rank alone({.first_sign = 30s, .transport = "tcp"});
    CHECK(alone.look(1h) == 30s + 50ms);
    REQUIRE(alone.failed());
    CHECK(alone.failed()->cause ==
          "no sign of life from it for 30 s since ranks met it: it hangs, or the network to it is "
          "cut; tcp_options::join sets the limit");
}

TEST_CASE(
    "membership: heard for less than 10 times dead_after -> no delay is measured yet: 3 times") {
    // Nothing that is sent to it is acknowledged.
    const auto queued = [](duration) {
        return path_facts{.segments = 7, .is_acknowledged = false};
    };
    listening_rank rank({.transport = "tcp", .settling = 10});
    rank.hear();
    for (int signs = 0; signs < 4; ++signs) {
        CHECK(rank.look(4900ms, queued) == 4900ms);
        rank.hear();
    }
    // Less than 20 s in all.
    CHECK(rank.look(1h, queued) == 6050ms);
    REQUIRE(rank.failed());
    CHECK(rank.failed()->cause ==
          "no sign of life from it for 6 s: it hangs, or the network to it is cut; "
          "tcp_options::dead_after, 2 s, times 3 until it is heard for 20 s, sets the limit");

    listening_rank settled({.transport = "tcp", .settling = 10});
    settled.hear();
    for (int signs = 0; signs < 4; ++signs) {
        settled.look(5s, queued);
        settled.hear();
    }
    CHECK(settled.look(1h, queued) == 2050ms);

    // Its system acknowledges: the process hangs.
    listening_rank hung({.transport = "tcp", .settling = 10});
    hung.hear();
    CHECK(hung.look(1h, still) == 2050ms);
}

TEST_CASE("membership: content ends a silence -> what was lost in it counts no longer") {
    listening_rank rank;
    rank.hear();
    const auto lost_once = [](duration since) {
        return path_facts{.segments = since < 1s ? 7u : 8u,
                          .retransmission = since < 1s ? 800ms : 0ms};
    };
    CHECK(rank.look(1h, lost_once) == 1s + 2050ms);
}

TEST_CASE("membership: halts of this process -> they are no silence of others") {
    listening_rank rank;
    rank.hear();
    for (int times = 0; times < 3; ++times) {
        rank.look(1400ms);
        rank.halt(1h);
        rank.look(200ms);
        CHECK_FALSE(rank.failed());
        rank.hear();
    }
    CHECK(rank.look(1h) == 2050ms);
}

TEST_CASE("membership: dead_after is 0 -> no rank is missed") {
    listening_rank rank({.dead_after = 0s});
    CHECK(rank.look(24h) == 24h);
    CHECK_FALSE(rank.failed());
}
