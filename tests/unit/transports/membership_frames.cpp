// What one rank makes of single frames of another one, forged ones too, and of time that passes.

#include <doctest/doctest.h>

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "sotto/core/bytes.hpp"
#include "sotto/core/errors.hpp"
#include "sotto/transports/detail/messaging/membership.hpp"
#include "sotto/wire/detail/protocols/frame.hpp"
#include "sotto/wire/detail/protocols/membership_report.hpp"

using namespace sotto;
using namespace sotto::detail::net;
using namespace std::chrono_literals;

namespace {

constexpr int size = 3;
constexpr std::array<int, size> everyone{0, 1, 2};

constexpr std::uint64_t seed_between(int from, int to) {
    return static_cast<std::uint64_t>(from * 1000 + to);
}

/// Rank 0, to which ranks 1 and 2 send frames that nothing stands behind.
struct rank_0 {
    time_point now{};
    membership state{0, size, 3, {}, seed_between, now};
    membership::ballot& ballot = state.open(everyone, 5);
    std::array<control_stream, size> from{stream_of(0), stream_of(1), stream_of(2)};

    static control_stream stream_of(int rank) {
        return {3, seed_between(rank, 0), seed_between(0, rank),
                detail::wire::report_bytes_max(size)};
    }

    void hear(int rank, const detail::wire::frame_header& header, byte_view payload = {}) {
        control_stream& stream = from[static_cast<std::size_t>(rank)];
        stream.send(header, payload);
        state.received(rank, stream.output(), now);
        stream.written(stream.output().size());
        state.count_votes();
    }
    void hear_vote(int rank, std::uint64_t poll, bool yes = true) {
        hear(rank, {.type = detail::wire::frame_type::vote,
                    .item = yes ? 1u : 0u,
                    .round = poll,
                    .value = ballot.key});
    }
    void hear_report(int rank, const detail::wire::membership_report& report,
                     detail::wire::frame_type type = detail::wire::frame_type::report) {
        bytes payload;
        detail::wire::append_report(report, payload);
        hear(rank, {.type = type}, payload);
    }
    /// Time passes in steps of a tenth of a second; who is heard in each.
    void pass(duration time, const std::vector<int>& heard) {
        for (duration gone{}; gone < time; gone += 100ms) {
            now += 100ms;
            for (const int rank : heard)
                hear(rank, {.type = detail::wire::frame_type::heartbeat, .value = 0});
            state.tick(now);
        }
    }

    bool blames(int rank, errc code) const {
        const auto& first = state.first_failure();
        return first && first->rank == rank && first->code == code;
    }
};

}  // namespace

TEST_CASE("membership: all votes of a poll are there -> its verdict is that of all") {
    for (const int against : {-1, 0, 1, 2}) {
        CAPTURE(against);
        rank_0 of;
        of.hear_vote(2, 0, against != 2);
        CHECK(of.ballot.completed == 0);
        of.state.vote(of.ballot, against != 0);
        CHECK(of.ballot.completed == 0);
        CHECK(of.state.first_absent(of.ballot) == 1);
        of.hear_vote(1, 0, against != 1);
        CHECK(of.ballot.completed == 1);
        CHECK(of.ballot.verdict == (against < 0));
    }
}

TEST_CASE("membership: a vote in a poll that is not the next -> its rank failed") {
    for (const std::uint64_t poll : {1u, 2u, 1000u}) {
        rank_0 of;
        of.hear_vote(1, poll);
        CHECK(of.blames(1, errc::malformed));
    }
    rank_0 of;  // one ahead is possible, two are not
    of.hear_vote(1, 0);
    of.hear_vote(1, 1);
    CHECK_FALSE(of.state.first_failure());
    of.hear_vote(1, 2);
    CHECK(of.blames(1, errc::malformed));
}

TEST_CASE("membership: a heartbeat that waits for no rank of the world -> its rank failed") {
    rank_0 of;
    for (std::uint64_t value = 0; value <= size + 1; ++value)
        of.hear(1, {.type = detail::wire::frame_type::heartbeat, .value = value});
    CHECK_FALSE(of.state.first_failure());
    of.hear(1, {.type = detail::wire::frame_type::heartbeat, .value = size + 2});
    CHECK(of.blames(1, errc::malformed));
}

TEST_CASE("membership: bytes that are no frame -> altered on the way, its rank failed") {
    rank_0 of;
    of.hear(1, {.type = detail::wire::frame_type::heartbeat, .value = 0});
    of.state.received(1, bytes(detail::wire::frame_header_bytes, std::byte{0xff}), of.now);
    CHECK(of.blames(1, errc::altered));
}

TEST_CASE("membership: a frame about messages, or a report of nothing -> its rank failed") {
    rank_0 of_message;
    of_message.hear(1, {.type = detail::wire::frame_type::message});
    CHECK(of_message.blames(1, errc::malformed));
    rank_0 of_nothing;
    of_nothing.hear_report(2, {});
    CHECK(of_nothing.blames(2, errc::malformed));
}

TEST_CASE("membership: a report of more polls than this rank voted in -> its rank failed") {
    rank_0 of;
    of.hear_report(1, {2,
                       static_cast<std::uint8_t>(errc::io),
                       "its disk is full",
                       {2},
                       {{of.ballot.key, 1, true}}});
    CHECK(of.state.of(1) == membership::standing::failed);
    CHECK(of.ballot.completed == 0);
}

TEST_CASE("membership: a report after this rank voted -> polls of others count") {
    for (const bool verdict : {true, false})
        for (const auto type :
             {detail::wire::frame_type::report, detail::wire::frame_type::leave}) {
            CAPTURE(verdict);
            rank_0 of;
            of.state.vote(of.ballot, true);
            detail::wire::membership_report report{0, 0, "", {}, {{of.ballot.key, 1, verdict}}};
            if (type == detail::wire::frame_type::report)
                report = {
                    2, static_cast<std::uint8_t>(errc::io), "its disk is full", {2}, report.polls};
            of.hear_report(1, report, type);
            CHECK(of.ballot.completed == 1);
            CHECK(of.ballot.verdict == verdict);
            CHECK(of.blames(2, errc::io) == (type == detail::wire::frame_type::report));
            // Votes that come now are too late.
            of.hear_vote(1, 0);
            of.hear_vote(2, 0);
            CHECK(of.ballot.completed == 1);
        }
}

TEST_CASE("membership: a rank is silent -> it failed, and ranks that are heard did not") {
    rank_0 of;
    of.pass(1500ms, {2});
    CHECK_FALSE(of.state.first_failure());
    of.pass(10s, {2});
    REQUIRE(of.state.first_failure());
    CHECK(of.state.first_failure()->rank == 1);
    CHECK(of.state.of(2) == membership::standing::alive);
}

TEST_CASE("membership: this process halts -> no rank failed meanwhile, but later one may") {
    rank_0 of;
    of.pass(1s, {1, 2});
    of.now += 100s;
    of.state.tick(of.now);
    CHECK_FALSE(of.state.first_failure());
    of.pass(1s, {2});
    CHECK_FALSE(of.state.first_failure());
    of.pass(10s, {2});
    REQUIRE(of.state.first_failure());
    CHECK(of.state.first_failure()->rank == 1);
}
