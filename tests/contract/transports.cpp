#include <doctest/doctest.h>

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <stdexcept>
#include <string>
#include <thread>
#include <tuple>
#include <vector>

#include "sotto/core/errors.hpp"
#include "sotto/transports/fail_with_exception.hpp"
#include "sotto/transports/transport.hpp"
#include "support/all_transports.hpp"
#include "support/over_tcp.hpp"

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

template <class Transport>
int next(const Transport& t) {
    return (t.rank() + 1) % t.size();
}

template <class Transport>
int previous(const Transport& t) {
    return (t.rank() + t.size() - 1) % t.size();
}

// Where one rank runs at a time, others do so while this one lets time pass.
void let_others_run(auto& t) {
    t.charge({.flops = 0.0, .bytes = 1e6});
    std::this_thread::yield();
}

// Whether a send may complete before it is received.
template <class Over>
constexpr bool sends_ahead = requires {
    Over::sends_ahead;
};

using with_tcp = decltype(std::tuple_cat(all_transports(), std::tuple<over_tcp>()));

}  // namespace

TEST_CASE_TEMPLATE_DEFINE("every rank runs once and knows the size", Over, each_rank_once) {
    for (const int size : {1, 2, 5}) {
        std::vector<std::atomic<int>> seen(static_cast<std::size_t>(size));
        Over::run(size, [&](auto& t) {
            CHECK(t.size() == size);
            ++seen.at(static_cast<std::size_t>(t.rank()));
        });
        for (const auto& count : seen) CHECK(count == 1);
    }
}

TEST_CASE_TEMPLATE_DEFINE("a message arrives as it was, whatever its size, whoever comes first",
                          Over, arrives) {
    for (const int size : {1, 2, 3})
        for (const std::size_t count : {0u, 1u, 1000u, 100000u})
            for (const bool send_first : {true, false})
                Over::run(size, [&](auto& t) {
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
                    const completion own = t.wait(sent);
                    CHECK(own.source == t.rank());
                    CHECK(own.bytes == static_cast<std::int64_t>(4 * count));
                    CHECK(in == numbers(count, previous(t)));
                });
}

TEST_CASE_TEMPLATE_DEFINE("a message may be shorter than the memory for it", Over, shorter) {
    Over::run(2, [&](auto& t) {
        if (t.rank() == 0) {
            t.wait(t.send(1, {}, view(numbers(3, 7))));
        } else {
            std::vector<std::int32_t> in(5, -1);
            CHECK(t.wait(t.receive(0, {}, view(in))).bytes == 12);
            CHECK(in == std::vector<std::int32_t>{7, 8, 9, -1, -1});
        }
    });
}

TEST_CASE_TEMPLATE_DEFINE(
    "messages of one tag keep their order, those of others do not stand in their way", Over,
    keeps_order) {
    Over::run(2, [&](auto& t) {
        constexpr std::int32_t messages = 50;
        const std::array<tag, 4> tags{tag{0, 0, 0}, tag{1, 0, 0}, tag{0, 1, 0}, tag{0, 0, 1}};
        std::vector<std::int32_t> values(4 * messages);
        std::vector<request> requests;
        for (std::int32_t i = 0; i < 4 * messages; ++i) {
            auto& value = values[static_cast<std::size_t>(i)];
            const auto memory = std::span(&value, 1);
            if (t.rank() == 0) {
                value = i;
                requests.push_back(
                    t.send(1, tags[static_cast<std::size_t>(i % 4)], std::as_bytes(memory)));
            } else {  // all of the last tag first
                requests.push_back(t.receive(0, tags[static_cast<std::size_t>(3 - i / messages)],
                                             std::as_writable_bytes(memory)));
            }
        }
        for (const request r : requests) t.wait(r);
        if (t.rank() == 1)
            for (std::int32_t i = 0; i < 4 * messages; ++i)
                CHECK(values[static_cast<std::size_t>(i)] == 4 * (i % messages) + 3 - i / messages);
    });
}

TEST_CASE_TEMPLATE_DEFINE("any_rank takes each message once and says who sent it", Over,
                          takes_from_any) {
    Over::run(4, [&](auto& t) {
        const std::int32_t own = 100 + t.rank();
        const auto memory = std::as_bytes(std::span(&own, 1));
        if (t.rank() != 0) {
            for (int i = 0; i < 10; ++i) t.wait(t.send(0, {5, 0, 0}, memory));
            return;
        }
        std::array<int, 4> heard{};
        for (int i = 0; i < 30; ++i) {
            std::int32_t value = 0;
            const completion from = t.wait(
                t.receive(any_rank, {5, 0, 0}, std::as_writable_bytes(std::span(&value, 1))));
            CHECK(value == 100 + from.source);
            ++heard[static_cast<std::size_t>(from.source)];
        }
        CHECK(heard == std::array<int, 4>{0, 10, 10, 10});
    });
}

TEST_CASE_TEMPLATE_DEFINE("a rank can send to itself", Over, sends_to_itself) {
    Over::run(2, [&](auto& t) {
        const auto out = numbers(10, t.rank());
        std::vector<std::int32_t> in(10);
        const request sent = t.send(t.rank(), {}, view(out));
        CHECK_FALSE(t.poll(sent));
        CHECK(t.wait(t.receive(t.rank(), {}, view(in))).source == t.rank());
        CHECK(t.poll(sent));
        CHECK(in == out);
    });
}

TEST_CASE_TEMPLATE_DEFINE("poll answers only once both sides are there, and activity ends an await",
                          Over, polls) {
    Over::run(2, [&](auto& t) {
        std::int32_t value = 41;
        const auto memory = std::as_writable_bytes(std::span(&value, 1));
        if (t.rank() == 0) {
            const request early = t.send(1, {1, 0, 0}, memory);
            if (!sends_ahead<Over>) CHECK_FALSE(t.poll(early));
            t.wait(t.send(1, {2, 0, 0}, {}));  // only now does rank 1 receive the first
            while (true) {
                const std::uint64_t seen = t.activity();
                if (t.poll(early)) break;
                t.await(seen);
            }
        } else {
            t.wait(t.receive(0, {2, 0, 0}, {}));
            const std::uint64_t seen = t.activity();
            const request late = t.receive(0, {1, 0, 0}, memory);
            t.await(seen);
            CHECK(t.activity() != seen);
            CHECK(t.poll(late));
        }
    });
}

TEST_CASE_TEMPLATE_DEFINE("agree is true if all say so, again and again", Over, agrees) {
    for (const int size : {1, 2, 5})
        Over::run(size, [&](auto& t) {
            for (int round = 0; round < 100; ++round) {
                const int refuser = round % (size + 1);  // every rank in turn, and nobody
                CHECK(t.agree(t.rank() != refuser) == (refuser == size));
            }
        });
}

TEST_CASE_TEMPLATE_DEFINE("all others name the rank that threw, and the caller gets what it threw",
                          Over, names_culprit) {
    for (const int how : {0, 1, 2, 3}) {
        std::atomic<int> survivors = 0;
        try {
            Over::run(4, [&](auto& t) {
                t.agree(true);  // everybody is there
                if (t.rank() == 2) throw std::domain_error("disk on fire");
                t.at({3, 14, "exchange"});
                std::int32_t value = 0;
                const auto memory = std::as_writable_bytes(std::span(&value, 1));
                const auto block = [&] {
                    switch (how) {
                        case 0:
                            t.wait(t.receive(t.rank() == 0 ? 1 : 0, {}, memory));
                            break;  // an innocent one
                        case 1:
                            while (true) t.wait(t.send(2, {}, memory));
                        case 2: t.agree(true); break;
                        default: {
                            const std::uint64_t seen = t.activity();
                            (void)t.receive(any_rank, {}, memory);
                            for (std::uint64_t now = seen;; now = t.activity()) t.await(now);
                        }
                    }
                };
                for (int attempt = 0; attempt < 2; ++attempt) {  // every later call says the same
                    try {
                        block();
                        FAIL_CHECK("it did not throw");
                    } catch (const peer_failure& e) {
                        CHECK(e.rank() == Over::world_rank(2));
                        CHECK(e.cause() == "disk on fire");
                        CHECK(e.code() == errc::peer_failed);
                        CHECK(e.when().epoch == 3);
                        CHECK(e.when().round == 14);
                        CHECK(std::string(e.when().phase) == "exchange");
                        ++survivors;
                    }
                }
            });
            FAIL("the exception was lost");
        } catch (const std::domain_error& e) {
            CHECK(std::string(e.what()) == "disk on fire");
        }
        CHECK(survivors == 6);
    }
}

TEST_CASE_TEMPLATE_DEFINE("a rank that handles its own failure tells the others who and why", Over,
                          gives_up) {
    for (const bool waits : {true, false}) {
        std::atomic<int> told = 0;
        CHECK_THROWS_AS(Over::run(4,
                                  [&](auto& t) {
                                      t.agree(true);
                                      std::int32_t value = 0;
                                      const auto memory =
                                          std::as_writable_bytes(std::span(&value, 1));
                                      if (t.rank() == 1) {
                                          try {
                                              throw std::domain_error("disk on fire");
                                          } catch (const std::domain_error& e) {
                                              t.fail(e.what());
                                              t.fail("and then some");
                                          }
                                          CHECK_THROWS_AS((void)t.send(0, {}, {}), peer_failure);
                                          // It stays: nobody is told by its leaving.
                                          while (told < 3) let_others_run(t);
                                          return;
                                      }
                                      try {
                                          if (waits)
                                              t.wait(t.receive(t.rank() == 0 ? 1 : 0, {}, memory));
                                          else
                                              t.agree(true);
                                      } catch (const peer_failure& e) {
                                          CHECK(e.rank() == Over::world_rank(1));
                                          CHECK(e.cause() == "disk on fire");
                                          CHECK(e.code() == errc::peer_failed);
                                          t.fail("because of another");  // changes nothing
                                          ++told;
                                          throw;
                                      }
                                  }),
                        peer_failure);
        CHECK(told == 3);
    }
}

TEST_CASE_TEMPLATE_DEFINE("fail_with_exception: any exception -> its kind and text at all others",
                          Over, fails_with_exception) {
    const auto others_see = [](auto thrown, errc kind, const std::string& cause) {
        std::atomic<int> told = 0;
        const auto train = [&](auto& t) {
            t.agree(true);
            try {
                if (t.rank() == 1) throw thrown;
                t.agree(true);
            } catch (const peer_failure& e) {
                CHECK(e.rank() == Over::world_rank(1));
                CHECK(e.code() == kind);
                CHECK(e.cause() == cause);
                ++told;
                throw;
            } catch (...) {
                fail_with_exception(t);
                throw;
            }
        };
        try {
            Over::run(3, train);
            FAIL_CHECK("no rank failed");
        } catch (const decltype(thrown)&) {
            CHECK(told == 2);
        } catch (const peer_failure&) {
            FAIL_CHECK("the exception of the rank that failed is lost");
        }
    };
    others_see(mismatch("rates differ"), errc::mismatch, "rates differ");
    others_see(output_incomplete("a log"), errc::output_incomplete, "a log");
    others_see(std::domain_error("disk on fire"), errc::peer_failed, "disk on fire");
    // From another rank it may be anything; here it is one line that no terminal acts on.
    others_see(std::domain_error("ok\nrank 9 failed: lies\x1b[2J"), errc::peer_failed,
               "ok\\nrank 9 failed: lies\\x1b[2J");
    others_see(42, errc::peer_failed,
               "an exception of type int was thrown; expected a std::exception, whose what() names "
               "the cause");
}

TEST_CASE_TEMPLATE_DEFINE("who fails gets its memory back at once", Over, takes_memory_along) {
    std::atomic<bool> failed = false;
    CHECK_THROWS_AS(Over::run(2,
                              [&](auto& t) {
                                  std::vector<std::int32_t> memory(1000, 1);
                                  if (t.rank() == 0) {
                                      {
                                          const std::vector<std::int32_t> lent(1000, 2);
                                          (void)t.send(1, {}, view(lent));
                                          (void)t.receive(1, {}, view(memory));
                                          t.fail("enough");
                                      }
                                      failed = true;
                                      CHECK(memory == std::vector<std::int32_t>(1000, 1));
                                  } else {
                                      while (!failed) let_others_run(t);
                                      t.wait(t.receive(0, {1, 0, 0}, view(memory)));
                                  }
                              }),
                    peer_failure);
}

TEST_CASE_TEMPLATE_DEFINE("who waits for a rank that is done learns so at once", Over,
                          learns_of_leaving) {
    for (const int how : {0, 1, 2, 3}) {
        std::atomic<int> told = 0;
        CHECK_THROWS_AS(Over::run(3,
                                  [&](auto& t) {
                                      t.agree(true);
                                      if (t.rank() == 1) return;
                                      std::int32_t value = 0;
                                      const auto memory =
                                          std::as_writable_bytes(std::span(&value, 1));
                                      try {
                                          switch (how) {
                                              case 0: t.wait(t.receive(1, {}, memory)); break;
                                              case 1:
                                                  while (true) t.wait(t.send(1, {}, memory));
                                              case 2: t.agree(true); break;
                                              default: {
                                                  const request r = t.receive(1, {}, memory);
                                                  while (true) {
                                                      const std::uint64_t seen = t.activity();
                                                      if (t.poll(r)) break;
                                                      t.await(seen);
                                                  }
                                              }
                                          }
                                      } catch (const peer_failure& e) {
                                          CHECK(e.rank() == Over::world_rank(1));
                                          CHECK(e.cause().find("left") != std::string::npos);
                                          ++told;
                                          throw;
                                      }
                                  }),
                        peer_failure);
        CHECK(told == 2);
    }
}

TEST_CASE_TEMPLATE_DEFINE("a rank that is done hurts nobody who does not wait for it", Over,
                          leaves_in_peace) {
    Over::run(3, [&](auto& t) {
        if (t.rank() == 1) return;
        std::vector<std::int32_t> values(8);
        for (int i = 0; i < 100; ++i) {
            if (t.rank() == 0)
                t.wait(t.send(2, {}, view(values)));
            else
                t.wait(t.receive(0, {}, view(values)));
        }
    });
}

TEST_CASE_TEMPLATE_DEFINE(
    "a message that is too long is refused at both ends, and memory stays whole", Over,
    refuses_long) {
    std::atomic<int> refused = 0;
    CHECK_THROWS_AS(
        Over::run(2,
                  [&](auto& t) {
                      t.agree(true);
                      std::vector<std::int32_t> in(3, -1);
                      const auto out = numbers(4, 0);
                      const request r = t.rank() == 0 ? t.send(1, {1, 2, 3}, view(out))
                                                      : t.receive(0, {1, 2, 3}, view(in));
                      try {
                          t.wait(r);
                          if (sends_ahead<Over>) t.agree(true);
                      } catch (const mismatch& e) {
                          CHECK(std::string(e.what()).find("16 bytes") != std::string::npos);
                          CHECK(std::string(e.what()).find("room for 12") != std::string::npos);
                          ++refused;
                          throw;
                      } catch (const peer_failure&) {  // the other one was quicker to throw
                          ++refused;
                          throw;
                      }
                      CHECK(in == std::vector<std::int32_t>(3, -1));
                  }),
        mismatch);
    CHECK(refused == 2);
}

TEST_CASE_TEMPLATE_DEFINE("a request is spent once it was reported", Over, spends_requests) {
    CHECK_THROWS_AS(Over::run(1,
                              [&](auto& t) {
                                  const request sent = t.send(0, {}, {});
                                  t.wait(t.receive(0, {}, {}));
                                  CHECK(t.poll(sent));
                                  t.wait(sent);
                              }),
                    std::logic_error);
    CHECK_THROWS_AS(Over::run(1, [&](auto& t) { (void)t.poll(request{}); }), std::logic_error);
}

TEST_CASE_TEMPLATE_DEFINE("a rank that does not exist is refused by its number", Over,
                          refuses_ranks) {
    CHECK_THROWS_AS(Over::run(2, [&](auto& t) { (void)t.send(2, {}, {}); }), invalid_option);
    CHECK_THROWS_AS(Over::run(2, [&](auto& t) { (void)t.send(any_rank, {}, {}); }), invalid_option);
    CHECK_THROWS_AS(Over::run(2, [&](auto& t) { (void)t.receive(-2, {}, {}); }), invalid_option);
}

TEST_CASE_TEMPLATE_DEFINE("counters show every byte of what was completed", Over, counts) {
    Over::run(3, [&](auto& t) {
        const traffic before = t.counters();
        const auto out = numbers(25, 0);
        std::vector<std::int32_t> in(30);
        for (int i = 0; i < 4; ++i) {
            const request received = t.receive(previous(t), {}, view(in));
            t.wait(t.send(next(t), {}, view(out)));
            t.wait(received);
        }
        CHECK(t.counters().bytes_sent - before.bytes_sent == 400);
        CHECK(t.counters().bytes_received - before.bytes_received == 400);
        CHECK(t.counters().messages_sent - before.messages_sent == 4);
        CHECK(t.counters().messages_received - before.messages_received == 4);
    });
}

TEST_CASE_TEMPLATE_DEFINE("after withdraw no lent memory is touched, and calls are refused", Over,
                          withdraws) {
    std::atomic<bool> withdrawn = false;
    CHECK_THROWS_AS(Over::run(2,
                              [&](auto& t) {
                                  std::vector<std::int32_t> memory(1000, 1);
                                  if (t.rank() == 0) {
                                      {
                                          const std::vector<std::int32_t> lent(1000, 2);
                                          (void)t.send(1, {}, view(lent));
                                          (void)t.receive(1, {}, view(memory));
                                          t.withdraw();
                                      }
                                      withdrawn = true;
                                      CHECK_THROWS_AS((void)t.send(1, {}, {}), std::logic_error);
                                      CHECK(memory == std::vector<std::int32_t>(1000, 1));
                                  } else {
                                      while (!withdrawn) let_others_run(t);
                                      t.wait(t.receive(0, {1, 0, 0}, view(memory)));
                                  }
                              }),
                    peer_failure);
}

TEST_CASE_TEMPLATE_DEFINE("time moves forward", Over, has_a_clock) {
    Over::run(1, [&](auto& t) {
        const time_point start = t.now();
        t.charge({.flops = 1e6, .bytes = 1e6});
        t.reserve(100);
        CHECK(t.now() >= start);
    });
}

TEST_CASE_TEMPLATE_APPLY(each_rank_once, with_tcp);
TEST_CASE_TEMPLATE_APPLY(arrives, with_tcp);
TEST_CASE_TEMPLATE_APPLY(shorter, with_tcp);
TEST_CASE_TEMPLATE_APPLY(keeps_order, with_tcp);
TEST_CASE_TEMPLATE_APPLY(takes_from_any, with_tcp);
TEST_CASE_TEMPLATE_APPLY(sends_to_itself, with_tcp);
TEST_CASE_TEMPLATE_APPLY(polls, with_tcp);
TEST_CASE_TEMPLATE_APPLY(agrees, with_tcp);
TEST_CASE_TEMPLATE_APPLY(names_culprit, with_tcp);
TEST_CASE_TEMPLATE_APPLY(gives_up, with_tcp);
TEST_CASE_TEMPLATE_APPLY(fails_with_exception, with_tcp);
TEST_CASE_TEMPLATE_APPLY(takes_memory_along, with_tcp);
TEST_CASE_TEMPLATE_APPLY(learns_of_leaving, with_tcp);
TEST_CASE_TEMPLATE_APPLY(leaves_in_peace, with_tcp);
TEST_CASE_TEMPLATE_APPLY(refuses_long, with_tcp);
TEST_CASE_TEMPLATE_APPLY(spends_requests, with_tcp);
TEST_CASE_TEMPLATE_APPLY(refuses_ranks, with_tcp);
TEST_CASE_TEMPLATE_APPLY(counts, with_tcp);
TEST_CASE_TEMPLATE_APPLY(withdraws, with_tcp);
TEST_CASE_TEMPLATE_APPLY(has_a_clock, with_tcp);
