#include "sotto/transports/packet_transport.hpp"

#include <doctest/doctest.h>

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "sotto/core/errors.hpp"
#include "sotto/core/random.hpp"
#include "sotto/transports/group.hpp"
#include "sotto/transports/tolerant_transport.hpp"
#include "support/over_packets.hpp"

using namespace sotto;
using namespace sotto::testing;

namespace {

bytes content_of(std::uint64_t number, std::size_t size) {
    bytes content(size);
    random_stream random(number);
    std::uint32_t word = 0;
    for (std::size_t i = 0; i < size; ++i) {
        if (i % 4 == 0) word = random();
        content[i] = static_cast<std::byte>(word >> 8 * (i % 4));
    }
    return content;
}

}  // namespace

static_assert(detail::ballot_transport<packet_transport>);
static_assert(!tolerant_transport<packet_transport>);  // its library must be drained

TEST_CASE(
    "messages of every size arrive whole, those above the budget and the longest packet too") {
    for (const std::int64_t budget : {std::int64_t{65536}, std::int64_t{4} << 20})
        run_over_packets(3, {.budget = budget}, [&](packet_transport& t) {
            const std::vector<std::size_t> sizes{0,     1,     8192,   8193,        16384,
                                                 65280, 65281, 262144, 262144 + 77, 3000001};
            const int next = (t.rank() + 1) % 3, previous = (t.rank() + 2) % 3;
            std::vector<bytes> out, in;
            std::vector<request> requests;
            for (std::size_t i = 0; i < sizes.size(); ++i) {
                out.push_back(content_of(i * 3 + static_cast<std::size_t>(t.rank()), sizes[i]));
                in.emplace_back(sizes[i]);
            }
            for (std::uint32_t i = 0; i < sizes.size(); ++i)
                requests.push_back(t.send(next, {1, i, 0}, out[i]));
            for (std::uint32_t i = static_cast<std::uint32_t>(sizes.size()); i-- > 0;)
                requests.push_back(t.receive(previous, {1, i, 0}, in[i]));
            for (const request r : requests) t.wait(r);
            for (std::size_t i = 0; i < sizes.size(); ++i)
                CHECK(in[i] == content_of(i * 3 + static_cast<std::size_t>(previous), sizes[i]));
        });
}

TEST_CASE("a rank that withdraws keeps its memory until it was taken, and no longer") {
    std::atomic<bool> withdrew = false;
    CHECK_THROWS_AS(run_over_packets(2, {},
                                     [&](packet_transport& t) {
                                         if (t.rank() == 0) {
                                             // More than is copied: rank 1 must take it.
                                             bytes lent = content_of(1, 1000000);
                                             (void)t.send(1, {}, lent);
                                             t.withdraw();
                                             std::fill(lent.begin(), lent.end(), std::byte{});
                                             withdrew = true;
                                             return;
                                         }
                                         bytes in(1000000);
                                         t.wait(t.receive(0, {}, in));
                                         CHECK(in == content_of(1, 1000000));
                                         t.wait(t.receive(0, {}, in));
                                     }),
                    peer_failure);
    CHECK(withdrew);
}

TEST_CASE("who withdraws while others send to it takes what was on its way, and drops it") {
    CHECK_THROWS_AS(run_over_packets(3, {},
                                     [&](packet_transport& t) {
                                         std::vector<bytes> memory(3, bytes(2000000));
                                         constexpr std::uint32_t messages = 3;
                                         for (std::uint32_t i = 0; i < messages; ++i) {
                                             if (t.rank() != 0)
                                                 (void)t.send(0, {1, i, 0}, memory[i]);
                                             if (t.rank() == 0)
                                                 (void)t.receive(any_rank, {1, i, 0}, memory[i]);
                                         }
                                         if (t.rank() != 1) t.agree(true);
                                         t.fail("enough");
                                         throw error(errc::io, "enough");
                                     }),
                    error);
}

TEST_CASE("a rank that is late is named, and what for") {
    std::atomic<int> told = 0;
    CHECK_THROWS_AS(
        run_over_packets(3, {.timeout = std::chrono::seconds(2)},
                         [&](packet_transport& t) {
                             std::int32_t value = 0;
                             const auto memory = std::as_writable_bytes(std::span(&value, 1));
                             t.agree(true);
                             if (t.rank() == 2) {  // computes until the others have noticed
                                 while (told < 2) std::this_thread::yield();
                                 t.agree(true);
                             }
                             try {
                                 // 0 waits for 1, which waits for 2.
                                 t.wait(t.receive(t.rank() + 1, {7, 8, 9}, memory));
                             } catch (const peer_failure& e) {
                                 CHECK(e.code() == errc::timed_out);
                                 CHECK(e.rank() == 2);
                                 CHECK(e.cause().find("waited 2 s") != std::string::npos);
                                 CHECK(e.cause().find("packets_options::timeout") !=
                                       std::string::npos);
                                 ++told;
                                 throw;
                             }
                         }),
        peer_failure);
    CHECK(told == 2);
}

namespace {

/// What an endpoint whose time is virtual has lived through.
struct virtual_run {
    time_point now{};
    std::optional<time_point> ended{};  // when it ended the job
    std::string why{};
};

/// An endpoint whose time passes while it pauses alone.
class endpoint_in_virtual_time : public packet_endpoint {
public:
    endpoint_in_virtual_time(packet_world& world, int rank, virtual_run& run)
        : packet_endpoint(world, rank), run_(&run) {}

    time_point now() const noexcept { return run_->now; }
    void pause(duration, bool, time_point) const { run_->now += std::chrono::milliseconds(100); }
    void end_job(std::string_view why) noexcept {
        if (!run_->ended) run_->ended = run_->now;
        run_->why = why;
    }

private:
    virtual_run* run_;
};

}  // namespace

TEST_CASE("packet_transport: a rank stops -> the job ends 5 s after the timeout") {
    using transport_in_virtual_time = detail::net::packet_transport<endpoint_in_virtual_time>;
    using std::chrono::seconds;
    const bytes lent = content_of(1, 1000000);
    for (const bool lends : {false, true}) {
        CAPTURE(lends);
        packet_world world(2);  // rank 1 does nothing
        virtual_run run;
        try {
            transport_in_virtual_time endpoint(detail::net::packet_options{.timeout = seconds(60)},
                                               world, 0, run);
            std::int32_t value = 0;
            const auto memory = std::as_writable_bytes(std::span(&value, 1));
            endpoint.wait(lends ? endpoint.send(1, {}, lent) : endpoint.receive(1, {}, memory));
            FAIL("it waited for nothing");
        } catch (const peer_failure& e) {
            CHECK(e.rank() == 1);
            CHECK(e.code() == errc::timed_out);
        }
        REQUIRE(run.ended);
        CHECK(*run.ended - time_point{} >= seconds(65));
        CHECK(*run.ended - time_point{} < seconds(66));
        CHECK(run.why.find("after rank 1 failed: it was late: rank 0 waited 60 s") !=
              std::string::npos);
    }
}

TEST_CASE("packet_transport: this rank fails -> the others have the timeout to end") {
    using transport_in_virtual_time = detail::net::packet_transport<endpoint_in_virtual_time>;
    using std::chrono::seconds;
    packet_world world(2);
    virtual_run run;
    {
        transport_in_virtual_time endpoint(detail::net::packet_options{.timeout = seconds(60)},
                                           world, 0, run);
        endpoint.fail("disk on fire");
    }
    REQUIRE(run.ended);
    CHECK(*run.ended - time_point{} >= seconds(60));
    CHECK(*run.ended - time_point{} < seconds(61));
}

TEST_CASE("groups vote by themselves") {
    run_over_packets(4, {}, [](packet_transport& t) {
        auto half = split(t, t.rank() % 2);
        for (int round = 0; round < 50; ++round) {
            const bool willing = t.rank() % 2 == 0 || round % 2 == 0;
            const bool first = half.agree(true), second = half.agree(willing);
            CHECK(first);
            CHECK(second == willing);
        }
    });
}

TEST_CASE("options that cannot work are refused by name") {
    using detail::net::packet_options;
    CHECK_NOTHROW(packet_options().require_possible("x"));
    CHECK_THROWS_WITH_AS(packet_options{.timeout = duration(-1)}.require_possible("x"),
                         "x: timeout is -1 ns; it must be above 0", invalid_option);
    CHECK_THROWS_WITH_AS(packet_options{.budget = 65535}.require_possible("x"),
                         "x: budget is 65535 bytes; it must be at least 65536", invalid_option);
    CHECK_THROWS_WITH_AS(packet_options{.transfers = -1}.require_possible("x"),
                         "x: room for -1 transfers; it must be at least 0", invalid_option);
}
