// The contract of a transport (tests/contract/transports.cpp), between processes that MPI connects.

#include <doctest/doctest.h>

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "mpi/over_mpi.hpp"
#include "sotto/core/errors.hpp"
#include "sotto/transports/group.hpp"
#include "sotto/transports/metered.hpp"

using namespace sotto;
using namespace sotto::testing;

namespace {

std::vector<std::int32_t> numbers(std::size_t count, std::int32_t first) {
    std::vector<std::int32_t> values(count);
    std::iota(values.begin(), values.end(), first);
    return values;
}

byte_view view(const std::vector<std::int32_t>& values) {
    return std::as_bytes(std::span(values));
}

mutable_byte_view view(std::vector<std::int32_t>& values) {
    return std::as_writable_bytes(std::span(values));
}

mutable_byte_view view(std::int32_t& value) {
    return std::as_writable_bytes(std::span(&value, 1));
}

template <class Transport>
int next(const Transport& t) {
    return (t.rank() + 1) % t.size();
}

template <class Transport>
int previous(const Transport& t) {
    return (t.rank() + t.size() - 1) % t.size();
}

}  // namespace

TEST_CASE("a message arrives as it was, whatever its size, whoever comes first") {
    for (int size = 1; size <= world_size(); ++size)
        for (const std::size_t count : {0u, 1u, 1000u, 2049u, 100000u, 1500000u})
            for (const bool send_first : {true, false}) {
                const ending how = run_over_mpi(size, [&](mpi& t) {
                    CHECK(t.size() == size);
                    const auto out = numbers(count, t.rank());
                    std::vector<std::int32_t> in(count, -1);
                    const tag label{1, 2, 3};
                    request sent, received;
                    if (send_first) sent = t.send(next(t), label, view(out));
                    received = t.receive(previous(t), label, view(in));
                    if (!send_first) sent = t.send(next(t), label, view(out));
                    const completion from_other = t.wait(received);
                    CHECK(from_other.source == previous(t));
                    CHECK(from_other.bytes == static_cast<std::int64_t>(4 * count));
                    CHECK(t.wait(sent).bytes == static_cast<std::int64_t>(4 * count));
                    CHECK(in == numbers(count, previous(t)));
                });
                CHECK(how == ending::none);
            }
}

TEST_CASE("a message that is longer than a packet arrives whole") {
    constexpr std::size_t count = 20'000'000;
    CHECK(run_over_mpi(2, [&](mpi& t) {
              if (t.rank() == 0) {
                  t.wait(t.send(1, {}, view(numbers(count, 5))));
              } else {
                  std::vector<std::int32_t> in(count + 1, -1);
                  CHECK(t.wait(t.receive(0, {}, view(in))).bytes == 4 * std::int64_t{count});
                  CHECK(in.back() == -1);
                  in.pop_back();
                  CHECK(in == numbers(count, 5));
              }
          }) == ending::none);
}

TEST_CASE("messages of one tag keep their order, those of others do not stand in their way") {
    CHECK(run_over_mpi(world_size(), [](mpi& t) {
              constexpr std::int32_t messages = 50;
              constexpr std::size_t length = 3000;  // so that most are not copied
              const std::array<tag, 4> tags{tag{0, 0, 0}, tag{1, 0, 0}, tag{0, 1, 0},
                                            tag{0, 0, std::uint64_t{1} << 40}};
              std::vector<std::vector<std::int32_t>> out, in;
              std::vector<request> requests;
              for (std::int32_t i = 0; i < 4 * messages; ++i) {
                  out.push_back(numbers(i % 3 == 0 ? 1 : length, i));
                  in.emplace_back(length);
              }
              for (std::size_t i = 0; i < out.size(); ++i)
                  requests.push_back(t.send(next(t), tags[i % 4], view(out[i])));
              for (std::size_t i = 0; i < in.size(); ++i)  // all of the last tag first
                  requests.push_back(t.receive(previous(t), tags[3 - i / messages], view(in[i])));
              for (const request r : requests) t.wait(r);
              for (std::size_t i = 0; i < in.size(); ++i)
                  CHECK(in[i][0] ==
                        static_cast<std::int32_t>(4 * (i % messages) + 3 - i / messages));
          }) == ending::none);
}

TEST_CASE("any_rank takes each message once and says who sent it") {
    CHECK(run_over_mpi(world_size(), [](mpi& t) {
              std::int32_t own = 100 + t.rank();
              if (t.rank() != 0) {
                  for (int i = 0; i < 10; ++i) t.wait(t.send(0, {5, 0, 0}, view(own)));
                  return;
              }
              std::vector<int> heard(static_cast<std::size_t>(t.size()));
              for (int i = 0; i < 10 * (t.size() - 1); ++i) {
                  std::int32_t value = 0;
                  const completion from = t.wait(t.receive(any_rank, {5, 0, 0}, view(value)));
                  CHECK(value == 100 + from.source);
                  ++heard[static_cast<std::size_t>(from.source)];
              }
              for (int rank = 1; rank < t.size(); ++rank)
                  CHECK(heard[static_cast<std::size_t>(rank)] == 10);
          }) == ending::none);
}

TEST_CASE("a rank can send to itself, and requests are spent once they were reported") {
    CHECK(run_over_mpi(1, [](mpi& t) {
              const auto out = numbers(10, 3);
              std::vector<std::int32_t> in(10);
              const request sent = t.send(0, {}, view(out));
              CHECK_FALSE(t.poll(sent));
              t.wait(t.receive(0, {}, view(in)));
              CHECK(t.poll(sent));
              CHECK(in == out);
              CHECK_THROWS_AS(t.wait(sent), std::logic_error);
              CHECK_THROWS_AS((void)t.send(1, {}, {}), invalid_option);
              CHECK_THROWS_AS(t.await(t.activity()), std::logic_error);
          }) == ending::none);
}

TEST_CASE("activity ends an await") {
    CHECK(run_over_mpi(2, [](mpi& t) {
              std::int32_t value = 41 + t.rank();
              if (t.rank() == 0) {
                  t.wait(t.receive(1, {2, 0, 0}, {}));
                  t.wait(t.send(1, {1, 0, 0}, view(value)));
              } else {
                  const std::uint64_t seen = t.activity();
                  const request late = t.receive(0, {1, 0, 0}, view(value));
                  t.wait(t.send(0, {2, 0, 0}, {}));
                  while (!t.poll(late)) t.await(t.activity());
                  CHECK(t.activity() != seen);
                  CHECK(value == 41);
              }
          }) == ending::none);
}

TEST_CASE("agree is true if all say so, again and again") {
    for (int size = 1; size <= world_size(); ++size)
        CHECK(run_over_mpi(size, [&](mpi& t) {
                  for (int round = 0; round < 100; ++round) {
                      const int refuser = round % (size + 1);  // every rank in turn, and nobody
                      CHECK(t.agree(t.rank() != refuser) == (refuser == size));
                  }
              }) == ending::none);
}

TEST_CASE("all others name the rank that threw, and why") {
    const int culprit = world_size() - 1;
    for (const int way : {0, 1, 2, 3}) {
        shared_count survivors;
        const ending how = run_over_mpi(world_size(), [&](mpi& t) {
            t.agree(true);
            if (t.rank() == culprit) throw std::domain_error("disk on fire");
            t.at({3, 14, "exchange"});
            std::vector<std::int32_t> memory(100000);
            const auto block = [&] {
                switch (way) {
                    case 0: t.wait(t.receive(culprit, {}, view(memory))); break;
                    case 1:
                        while (true) t.wait(t.send(culprit, {}, view(memory)));
                    case 2: t.agree(true); break;
                    default: {
                        const std::uint64_t seen = t.activity();
                        (void)t.receive(any_rank, {}, view(memory));
                        for (std::uint64_t now = seen;; now = t.activity()) t.await(now);
                    }
                }
            };
            for (int attempt = 0; attempt < 2; ++attempt) {  // every later call says the same
                try {
                    block();
                    FAIL_CHECK("it did not throw");
                } catch (const peer_failure& e) {
                    CHECK(e.rank() == culprit);
                    CHECK(e.cause() == "disk on fire");
                    CHECK(e.code() == errc::peer_failed);
                    CHECK(e.when().round == 14);
                    ++survivors;
                }
            }
        });
        CHECK(how == (world_rank() == culprit ? ending::other : ending::none));
        CHECK(survivors == 2 * (world_size() - 1));
    }
}

TEST_CASE("a rank that handles its own failure tells the others, and stays") {
    shared_count told;
    const ending how = run_over_mpi(world_size(), [&](mpi& t) {
        t.agree(true);
        std::vector<std::int32_t> memory(1000, 1);
        if (t.rank() == 1) {
            {
                const std::vector<std::int32_t> lent(1000, 2);
                (void)t.send(0, {9, 0, 0}, view(lent));
                (void)t.receive(0, {9, 0, 0}, view(memory));
                t.fail("disk on fire");
            }
            t.fail("and then some");
            CHECK_THROWS_AS((void)t.send(0, {}, {}), peer_failure);
            while (told < t.size() - 1) std::this_thread::yield();
            CHECK(memory == std::vector<std::int32_t>(1000, 1));
            return;
        }
        try {
            t.wait(t.receive(1, {}, view(memory)));
        } catch (const peer_failure& e) {
            CHECK(e.rank() == 1);
            CHECK(e.cause() == "disk on fire");
            ++told;
            throw;
        }
    });
    CHECK(how == (world_rank() == 1 ? ending::none : ending::peer_failure));
    CHECK(told == world_size() - 1);
}

TEST_CASE("who is destroyed while an exception passes has failed, and has not just left") {
    bool told = false;
    try {
        mpi t = mpi::join({.timeout = std::chrono::seconds(30)});
        t.agree(true);
        if (t.rank() == 1) throw std::domain_error("trouble of its own");
        std::int32_t value = 0;
        t.wait(t.receive(1, {}, view(value)));
    } catch (const std::domain_error&) {
    } catch (const peer_failure& e) {
        CHECK(e.rank() == 1);
        CHECK(e.cause() == "an exception ended its work");
        told = true;
    }
    CHECK(told == (world_rank() != 1));
    MPI_Barrier(MPI_COMM_WORLD);
}

TEST_CASE("who waits for a rank that is done learns so, and nobody else is hurt") {
    for (const int way : {0, 1, 2}) {
        shared_count told;
        run_over_mpi(world_size(), [&](mpi& t) {
            t.agree(true);
            std::int32_t value = 0;
            if (t.rank() == 1) {  // what it sends before is received
                for (int peer = 0; peer < t.size(); ++peer)
                    if (peer != 1) t.wait(t.send(peer, {1, 0, 0}, view(value)));
                return;
            }
            bool heard = false;
            try {
                t.wait(t.receive(1, {1, 0, 0}, view(value)));
                heard = true;
                switch (way) {
                    case 0: t.wait(t.receive(1, {}, view(value))); break;
                    case 1:
                        while (true) t.wait(t.send(1, {}, view(value)));
                    default: t.agree(true);
                }
            } catch (const peer_failure& e) {
                CHECK(e.rank() == 1);
                CHECK(e.cause().find("left") != std::string::npos);
                // Another one may have been quicker to wait for more.
                if (t.size() == 2) CHECK(heard);
                ++told;
            }
        });
        CHECK(told == world_size() - 1);
    }
    if (world_size() < 3) return;
    CHECK(run_over_mpi(3, [](mpi& t) {
              if (t.rank() == 1) return;
              std::vector<std::int32_t> values(5000);
              for (int i = 0; i < 100; ++i) {
                  if (t.rank() == 0)
                      t.wait(t.send(2, {}, view(values)));
                  else
                      t.wait(t.receive(0, {}, view(values)));
              }
          }) == ending::none);
}

TEST_CASE("a message that is too long is refused, and memory stays whole") {
    for (const std::size_t count : {4u, 10000u, 3000000u}) {
        const ending how = run_over_mpi(2, [&](mpi& t) {
            t.agree(true);
            std::vector<std::int32_t> in(3, -1);
            const auto out = numbers(count, 0);
            const request r =
                t.rank() == 0 ? t.send(1, {1, 2, 3}, view(out)) : t.receive(0, {1, 2, 3}, view(in));
            try {
                t.wait(r);
                t.agree(true);
            } catch (const mismatch& e) {
                CHECK(std::string(e.what()) ==
                      "a message of " + std::to_string(4 * count) +
                          " bytes (channel 1, item 2, round 3) from rank 0 to rank 1, which has "
                          "room for 12");
                CHECK(in == std::vector<std::int32_t>(3, -1));
                throw;
            }
        });
        if (world_rank() == 1) CHECK(how == ending::mismatch);
        if (world_rank() == 0) CHECK(how == ending::peer_failure);
    }
}

TEST_CASE("a rank that is late is named by the others, and ends with them") {
    shared_count told;
    const mpi_options options{.timeout = std::chrono::seconds(2)};
    const ending how = run_over_mpi(world_size(), options, [&](mpi& t) {
        t.agree(true);
        std::int32_t value = 0;
        if (t.rank() == 0) {
            while (told < t.size() - 1) std::this_thread::yield();
            t.agree(true);
        }
        try {
            t.wait(t.receive(0, {7, 8, 9}, view(value)));
        } catch (const peer_failure& e) {
            CHECK(e.rank() == 0);
            CHECK(e.code() == errc::timed_out);
            CHECK(e.cause().find("mpi_options::timeout") != std::string::npos);
            ++told;
            throw;
        }
    });
    CHECK(how == ending::peer_failure);
}

TEST_CASE("counters show every byte, and metered and groups work over it") {
    CHECK(run_over_mpi(world_size(), [](mpi& world) {
              metered counted(world);
              auto t = split(counted, world.rank() % 2);
              const std::int64_t before = counted.counters().bytes_sent;
              const auto out = numbers(25, 0);
              std::vector<std::int32_t> in(30);
              const traffic at_first = world.counters();
              for (int i = 0; i < 4; ++i) {
                  const request received = t.receive(previous(t), {}, view(in));
                  t.wait(t.send(next(t), {}, view(out)));
                  t.wait(received);
                  CHECK(t.agree(true));
              }
              CHECK(counted.counters().bytes_sent - before == 400);
              CHECK(world.counters().bytes_sent - at_first.bytes_sent == 400);
              CHECK(world.counters().bytes_received - at_first.bytes_received == 400);
              CHECK(world.counters().messages_received - at_first.messages_received == 4);
          }) == ending::none);
}

TEST_CASE("the program's own messages do not meet ours") {
    int theirs = world_rank(), got = -1;
    const int to = (world_rank() + 1) % world_size();
    MPI_Request receiving = MPI_REQUEST_NULL, sending = MPI_REQUEST_NULL;
    MPI_Irecv(&got, 1, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &receiving);
    {
        mpi t = mpi::join();
        CHECK(t.size() == world_size());
        CHECK(t.rank() == world_rank());
        std::int32_t value = -1, own = 7 + t.rank();
        const request received = t.receive(any_rank, {}, view(value));
        t.wait(t.send(next(t), {}, view(own)));
        CHECK(t.wait(received).source == previous(t));
        CHECK(value == 7 + previous(t));
        MPI_Isend(&theirs, 1, MPI_INT, to, 0, MPI_COMM_WORLD, &sending);
        CHECK(t.agree(true));
    }
    MPI_Wait(&receiving, MPI_STATUS_IGNORE);
    MPI_Wait(&sending, MPI_STATUS_IGNORE);
    CHECK(got == (world_rank() + world_size() - 1) % world_size());
}

TEST_CASE("two transports of one process do not meet") {
    mpi first = mpi::join(), second = mpi::join();
    std::int32_t a = 1, b = 2, from_first = 0, from_second = 0;
    const request later = second.receive(previous(second), {}, view(from_second));
    const request sooner = first.receive(previous(first), {}, view(from_first));
    first.wait(first.send(next(first), {}, view(a)));
    second.wait(second.send(next(second), {}, view(b)));
    second.wait(later);
    first.wait(sooner);
    CHECK(from_first == 1);
    CHECK(from_second == 2);
}

TEST_CASE("ranks that were given other options, or no ranks, are refused") {
    CHECK(run_over_mpi(world_size(), {.budget = world_rank() == 1 ? 65536 : 65537}, [](mpi&) {}) ==
          ending::mismatch);
    CHECK(run_over_mpi(world_size(), {.budget = 1}, [](mpi&) {}) == ending::invalid_option);
    CHECK(run_over_mpi(world_size(), {.join = duration(0)}, [](mpi&) {}) == ending::invalid_option);
    CHECK_THROWS_WITH_AS((void)mpi::join(MPI_COMM_NULL),
                         "mpi: the communicator is MPI_COMM_NULL: this process is not in it",
                         invalid_option);
    MPI_Comm half = MPI_COMM_NULL, across = MPI_COMM_NULL;
    const int side = world_rank() % 2;
    MPI_Comm_split(MPI_COMM_WORLD, side, 0, &half);
    MPI_Intercomm_create(half, 0, MPI_COMM_WORLD, 1 - side, 0, &across);
    CHECK_THROWS_AS((void)mpi::join(across), invalid_option);
    MPI_Comm_free(&across);
    MPI_Comm_free(&half);
}
