#include "sotto/transports/tcp.hpp"

#include <doctest/doctest.h>

#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <stdexcept>
#include <thread>
#include <vector>

#include "sotto/core/random.hpp"
#include "support/over_tcp.hpp"

using namespace sotto;
using namespace sotto::testing;
using namespace std::chrono_literals;

namespace {

std::vector<std::byte> content_of(std::uint64_t message, std::size_t size) {
    std::vector<std::byte> content(size);
    for (std::size_t i = 0; i < size; ++i)
        content[i] = static_cast<std::byte>((i * 31 + message * 7) & 255);
    return content;
}

}  // namespace

TEST_CASE("a rank that does not receive is sent its budget, and the rest once it does") {
    constexpr std::size_t messages = 64, size = 100'000;
    constexpr std::int64_t budget = 1 << 20;
    run_over_tcp(2, {.budget = budget}, [&](tcp& t) {
        std::vector<std::vector<std::byte>> content;
        for (std::uint64_t m = 0; m < messages; ++m) content.push_back(content_of(m, size));
        if (t.rank() == 0) {
            std::vector<std::optional<request>> sends;
            for (std::uint64_t m = 0; m < messages; ++m)
                sends.emplace_back(t.send(1, {16, 0, m}, content[m]));
            std::int64_t gone = 0;
            for (int turn = 0; turn < 2000; ++turn)
                for (auto& send : sends)
                    if (send)
                        if (const auto done = t.poll(*send)) {
                            gone += done->bytes;
                            send.reset();
                        }
            CHECK(gone <= budget);
            CHECK(t.counters().bytes_sent == gone);
            t.agree(true);  // from here on the other one receives
            for (const auto& send : sends)
                if (send) t.wait(*send);
        } else {
            t.agree(true);
            std::vector<std::byte> room(size);
            for (std::uint64_t m = 0; m < messages; ++m) {
                t.wait(t.receive(0, {16, 0, m}, room));
                CHECK(room == content[m]);
            }
        }
        t.agree(true);
    });
}

TEST_CASE("ranks that only poll for what they send each other both get rid of it") {
    constexpr std::size_t size = 40 << 20;  // more than the system keeps on its way
    run_over_tcp(2, {.budget = std::int64_t{2} * size}, [&](tcp& t) {
        const int other = 1 - t.rank();
        const std::vector<std::byte> content = content_of(1, size);
        const request send = t.send(other, {16, 0, 0}, content);
        while (!t.poll(send)) {}
        std::vector<std::byte> room(size);
        t.wait(t.receive(other, {16, 0, 0}, room));
        CHECK(room == content);
    });
}

TEST_CASE("what a rank sent arrives though it left, and its receiver comes late and talks back") {
    constexpr std::size_t size = 3 << 20;  // the system takes it, and has not got rid of it
    const std::vector<std::byte> content = content_of(2, size);
    tcp_options options{.size = 2, .port = 0};
    tcp::meeting meeting(options);
    options.port = meeting.port();
    options.rank = 1;
    std::atomic<bool> leaves = false;
    const std::jthread other([&] {
        tcp t = tcp::join(options);
        const request send = t.send(0, {16, 0, 0}, content);
        while (!t.poll(send)) {}
        leaves = true;
    });
    tcp t = meeting.join();
    while (!leaves) {}
    const auto began = std::chrono::steady_clock::now();
    while (std::chrono::steady_clock::now() - began < 700ms) {}  // it computes
    const std::array<std::byte, 8> answer{};
    (void)t.send(1, {16, 0, 1}, answer);
    std::vector<std::byte> room(size);
    t.wait(t.receive(1, {16, 0, 0}, room));
    CHECK(room == content);
}

TEST_CASE("who is destroyed while an exception passes has failed, and has not just left") {
    tcp_options options{.size = 2, .port = 0};
    tcp::meeting meeting(options);
    options.port = meeting.port();
    options.rank = 1;
    const std::jthread other([&] {
        try {
            tcp t = tcp::join(options);
            throw std::runtime_error("trouble of its own");
        } catch (const std::runtime_error&) {}
    });
    tcp t = meeting.join();
    std::array<std::byte, 8> room{};
    try {
        t.wait(t.receive(1, {16, 0, 0}, room));
        FAIL("nothing was sent");
    } catch (const peer_failure& e) {
        CHECK(e.rank() == 1);
        CHECK(e.cause() == "an exception ended its work");
    }
}

TEST_CASE("what ranks vote at somebody's deadline counts for all that are left, or for none") {
    enum class end { completed, gave_up, other };
    random_stream random(3);
    int completed = 0, gave_up = 0, others_late = 0;
    for (int trial = 0; trial < 60; ++trial) {
        std::array<std::atomic<end>, 2> ends{end::other, end::other};
        std::array<std::string, 3> said;
        std::atomic<bool> is_last_late = true;  // not another, on a machine that is busy
        const auto late = std::chrono::microseconds(28000 + random.below(4000));
        try {
            run_over_tcp(3, {.timeout = 30ms}, [&](tcp& t) {
                const auto began = std::chrono::steady_clock::now();
                if (t.rank() == 2)
                    while (std::chrono::steady_clock::now() - began < late) {}
                const auto ended = [&](end how) {
                    end before = end::other;
                    if (t.rank() < 2)
                        ends[static_cast<std::size_t>(t.rank())].compare_exchange_strong(before,
                                                                                         how);
                };
                try {
                    t.agree(true);
                    ended(end::completed);
                    // Names who failed first. That may be the other of both, which this one had
                    // found late before what rank 2 knew completed the poll.
                    t.agree(true);
                } catch (const peer_failure& e) {
                    said[static_cast<std::size_t>(t.rank())] = e.what();
                    if (e.rank() != 2) is_last_late = false;
                    ended(end::gave_up);
                    throw;
                }
            });
        } catch (const peer_failure&) {}
        if (!is_last_late) {
            ++others_late;
            continue;
        }
        INFO("rank 0: " << said[0] << "; rank 1: " << said[1] << "; rank 2: " << said[2]);
        CHECK(ends[0] != end::other);
        CHECK(ends[0] == ends[1]);
        (ends[0] == end::completed ? completed : gave_up) += 1;
    }
    MESSAGE(completed << " completed, " << gave_up << " gave up, others were late in "
                      << others_late);
}

TEST_CASE("a meeting is joined once") {
    tcp::meeting meeting(tcp_options{.size = 1, .port = 0});
    (void)meeting.join();
    CHECK_THROWS_AS((void)meeting.join(), std::logic_error);
    CHECK_THROWS_AS((void)meeting.port(), std::logic_error);
}
