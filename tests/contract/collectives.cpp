#include <doctest/doctest.h>

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <numeric>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "sotto/collectives/detail/all_gather_parts.hpp"
#include "sotto/collectives/detail/all_gather_v.hpp"
#include "sotto/collectives/detail/all_gather_values.hpp"
#include "sotto/collectives/all_reduce.hpp"
#include "sotto/collectives/detail/barrier.hpp"
#include "sotto/collectives/detail/broadcast.hpp"
#include "sotto/collectives/detail/operation.hpp"
#include "sotto/collectives/detail/reduce_scatter.hpp"
#include "sotto/core/errors.hpp"
#include "support/all_transports.hpp"
#include "support/generators.hpp"

using namespace sotto;
using namespace sotto::collectives;
using namespace sotto::detail::collectives;
using namespace sotto::testing;

namespace {

const auto worlds = {1, 2, 3, 4, 5, 8};
const auto every_sum =
    std::tuple(ring{}, tree{}, halving_doubling{}, recursive_doubling{}, automatic{});

/// The bytes that a rank contributes in a round: another length and content each time, sometimes
/// none.
bytes block_of(int rank, std::uint64_t round, std::size_t bytes_max) {
    const auto size = (static_cast<std::size_t>(rank) * 37 + round * 11) % (bytes_max + 1);
    return bytes(size, std::byte(static_cast<unsigned>(rank) * 16 + static_cast<unsigned>(round)));
}

}  // namespace

TEST_CASE_TEMPLATE_DEFINE("every collective that sums gives everybody the sum", Over, sums) {
    for (const int world : worlds)
        Over::run(world, [&](auto& t) {
            std::apply(
                [&](auto... how) {
                    std::uint32_t item = 0;
                    const auto check = [&](auto collective) {
                        for (const std::int64_t n : {0, 1, 10, 1000}) {
                            auto sum = collective.bind(t, n);
                            auto values = integer_values(n, static_cast<std::uint64_t>(t.rank()));
                            std::vector<float> expected(values.size());
                            for (int rank = 0; rank < world; ++rank) {
                                const auto given =
                                    integer_values(n, static_cast<std::uint64_t>(rank));
                                for (std::size_t i = 0; i < expected.size(); ++i)
                                    expected[i] += given[i];
                            }
                            sum.start(values, {0, item++, 0});
                            run(t, sum);
                            CHECK(values == expected);
                        }
                    };
                    (check(how), ...);
                },
                every_sum);
        });
}

TEST_CASE_TEMPLATE_DEFINE("reduce_scatter and then all_gather_parts is all_reduce, bit for bit",
                          Over, two_halves) {
    for (const int world : worlds)
        Over::run(world, [&](auto& t) {
            constexpr std::int64_t n = 101;
            auto whole = normal_values(n, static_cast<std::uint64_t>(t.rank())), halves = whole;
            auto at_once = ring{}.bind(t, n);
            reduce_scatter first(t, n);
            all_gather_parts<> second(t, n);
            at_once.start(whole, {0, 0, 0});
            first.start(halves, {0, 1, 0});
            run(t, at_once, first);
            const range own = first.owned(n);
            CHECK(second.owned(n) == own);
            for (auto i = static_cast<std::size_t>(own.begin);
                 i < static_cast<std::size_t>(own.end); ++i)
                CHECK(halves[i] == whole[i]);
            second.start(halves, {0, 1, 1});
            run(t, second);
            CHECK(halves == whole);
        });
}

TEST_CASE_TEMPLATE_DEFINE("broadcast gives everybody the root's values, of any type", Over,
                          broadcasts) {
    for (const int world : worlds)
        Over::run(world, [&](auto& t) {
            for (int root = 0; root < world; ++root)
                for (const std::size_t n : {0u, 1u, 200000u}) {
                    broadcast<> floats(t, static_cast<std::int64_t>(n), root);
                    broadcast<std::byte> characters(t, static_cast<std::int64_t>(n), root);
                    std::vector<float> values(n);
                    std::vector<std::byte> text(n);
                    if (t.rank() == root) {
                        std::iota(values.begin(), values.end(), 1.0f);
                        for (std::size_t i = 0; i < n; ++i) text[i] = std::byte(i % 251);
                    }
                    floats.start(values, {0, 0, static_cast<std::uint64_t>(root)});
                    characters.start(text, {0, 1, static_cast<std::uint64_t>(root)});
                    run(t, floats, characters);
                    bool right = true;
                    for (std::size_t i = 0; i < n; ++i)
                        right = right && values[i] == static_cast<float>(i + 1) &&
                                text[i] == std::byte(i % 251);
                    CHECK(right);
                }
        });
}

TEST_CASE_TEMPLATE_DEFINE(
    "all_gather gives everybody the bytes of everybody, whatever their lengths", Over, gathers) {
    for (const int world : worlds)
        for (const route way : {route::direct, route::ring})
            Over::run(world, [&](auto& t) {
                all_gather_v blocks(t, 100, way);
                for (std::uint64_t round = 0; round < 20; ++round) {
                    const bytes own = block_of(t.rank(), round, 100);
                    blocks.start(own, {0, 0, round});
                    run(t, blocks);
                    for (int rank = 0; rank < world; ++rank) {
                        CHECK(blocks.arrived(rank));
                        const byte_view got = blocks.block_of(rank);
                        CHECK(bytes(got.begin(), got.end()) == block_of(rank, round, 100));
                    }
                }
            });
}

TEST_CASE_TEMPLATE_DEFINE(
    "all_gather divides a block into messages of 256 KiB; it ends with a shorter one or its bound",
    Over, gathers_long_blocks) {
    constexpr std::size_t message = 262144,
                          bound = 12 * message;  // more than are under way at once
    std::vector<bytes> whole(3, bytes(bound));
    for (std::size_t rank = 0; rank < whole.size(); ++rank)
        for (std::size_t i = 0; i < bound; ++i)
            whole[rank][i] = std::byte(i * 31 + i / message * 7 + rank);
    const auto content = [&whole](int rank, std::size_t size) {
        return byte_view(whole[static_cast<std::size_t>(rank)]).first(size);
    };
    const std::vector<std::size_t> lengths{bound, 0,           message,      message - 1,
                                           1,     message + 1, 11 * message, bound - 1};
    for (const int world : {2, 3})
        for (const route way : {route::direct, route::ring})
            Over::run(world, [&](auto& t) {
                all_gather_v blocks(t, static_cast<std::int64_t>(bound), way);
                const auto length_of = [&](int rank, std::size_t round) {
                    return lengths[(round + 3 * static_cast<std::size_t>(rank)) % lengths.size()];
                };
                for (std::size_t round = 0; round < lengths.size(); ++round) {
                    blocks.start(content(t.rank(), length_of(t.rank(), round)), {0, 0, round});
                    run(t, blocks);
                    for (int rank = 0; rank < world; ++rank) {
                        const byte_view got = blocks.block_of(rank);
                        const byte_view expected = content(rank, length_of(rank, round));
                        REQUIRE(got.size() == expected.size());
                        // Not by std::equal, which unoptimised takes a call for each byte.
                        CHECK((got.empty() ||
                               std::memcmp(got.data(), expected.data(), got.size()) == 0));
                    }
                }
            });
}

TEST_CASE_TEMPLATE_DEFINE("a gathered block can be read before the others are there", Over,
                          gathers_early) {
    Over::run(3, [&](auto& t) {
        all_gather_v blocks(t, 4, route::direct);
        const bytes own(4, std::byte(t.rank()));
        if (t.rank() == 2) {  // comes only once 0 and 1 have each other's
            for (int peer : {0, 1}) t.wait(t.receive(peer, {1, 0, 0}, {}));
            blocks.start(own, {});
        } else {
            blocks.start(own, {});
            while (!blocks.arrived(1 - t.rank())) {
                const std::uint64_t seen = t.activity();
                CHECK_FALSE(blocks.advance());
                if (!blocks.arrived(1 - t.rank())) t.await(seen);
            }
            CHECK_FALSE(blocks.arrived(2));
            CHECK(blocks.block_of(1 - t.rank())[0] == std::byte(1 - t.rank()));
            t.wait(t.send(2, {1, 0, 0}, {}));
        }
        run(t, blocks);
        CHECK(blocks.arrived(2));
    });
}

TEST_CASE_TEMPLATE_DEFINE(
    "either route of all_gather sends and receives every block of the others once", Over,
    gathers_thriftily) {
    for (const route way : {route::direct, route::ring})
        Over::run(4, [&](auto& t) {
            all_gather_v blocks(t, 10, way);
            const bytes own(10);
            const traffic before = t.counters();
            blocks.start(own, {});
            run(t, blocks);
            CHECK(t.counters().bytes_sent - before.bytes_sent == 30);
            CHECK(t.counters().bytes_received - before.bytes_received == 30);
        });
}

TEST_CASE_TEMPLATE_DEFINE("nobody passes a barrier before everybody has come", Over, holds_back) {
    for (const int world : {1, 2, 3, 4, 5, 8, 9}) {
        std::atomic<int> come = 0;
        Over::run(world, [&](auto& t) {
            barrier gate(t);
            for (int round = 1; round <= 20; ++round) {
                ++come;
                gate.start({0, 0, static_cast<std::uint64_t>(round)});
                run(t, gate);
                CHECK(come >= round * world);
            }
        });
    }
}

TEST_CASE_TEMPLATE_DEFINE("one value of everybody is known to everybody", Over, gathers_values) {
    struct measured {
        double loss;
        std::int64_t examples;
    };
    for (const int world : worlds)
        Over::run(world, [&](auto& t) {
            std::vector<measured> all(static_cast<std::size_t>(world));
            for (std::uint64_t round = 0; round < 5; ++round) {
                const measured own{0.5 * t.rank(), t.rank() + static_cast<std::int64_t>(round)};
                all_gather_values(t, own, std::span(all), {0, 0, round});
                for (int rank = 0; rank < world; ++rank) {
                    CHECK(all[static_cast<std::size_t>(rank)].loss == 0.5 * rank);
                    CHECK(all[static_cast<std::size_t>(rank)].examples ==
                          rank + static_cast<std::int64_t>(round));
                }
            }
            std::vector<int> few(static_cast<std::size_t>(world) + 1);
            CHECK_THROWS_AS(all_gather_values(t, 1, std::span(few), {}), invalid_option);
        });
}

TEST_CASE_TEMPLATE_DEFINE("a value of another size is refused with both sizes, by all ranks", Over,
                          refuses_values) {
    for (const bool shorter : {true, false}) {
        std::atomic<int> told = 0;
        CHECK_THROWS_AS(Over::run(3,
                                  [&](auto& t) {
                                      t.agree(true);  // everybody is there
                                      const auto gather = [&](auto own) {
                                          std::vector<decltype(own)> all(3);
                                          all_gather_values(t, own, std::span(all), {});
                                      };
                                      try {
                                          if ((t.rank() == 1) == shorter)
                                              gather(std::int32_t{1});
                                          else
                                              gather(std::int64_t{1});
                                      } catch (const error& e) {
                                          const std::string text = e.what();
                                          CHECK(text.find("4") != std::string::npos);
                                          CHECK(text.find("8") != std::string::npos);
                                          ++told;
                                          throw;
                                      }
                                  }),
                        mismatch);
        CHECK(told == 3);
    }
    std::string sentence;
    CHECK_THROWS_AS(Over::run(2,
                              [&](auto& t) {
                                  std::vector<std::int64_t> all(2);
                                  if (t.rank() == 1) {
                                      t.wait(t.send(0, {}, {}));
                                      return;
                                  }
                                  try {
                                      all_gather_values(t, std::int64_t{1}, std::span(all), {});
                                  } catch (const mismatch& e) {
                                      sentence = e.what();
                                      throw;
                                  }
                              }),
                    mismatch);
    CHECK(sentence == "all_gather_values: rank 1 sent 0 bytes where rank 0 expected 8");
}

TEST_CASE_TEMPLATE_DEFINE("a rank that dies in the middle of any collective is named by all others",
                          Over, names_the_dead) {
    for (int kind = 0; kind < 9; ++kind)
        for (int dying = 0; dying < 4; ++dying) {
            std::atomic<int> told = 0;
            CHECK_THROWS_AS(
                Over::run(
                    4,
                    [&](auto& t) {
                        t.agree(true);
                        std::vector<float> values(1000, 1.0f);
                        const bytes own(100);
                        std::vector<int> numbers(4);
                        detail::collectives::all_reduce sum(t, 1000,
                                                            static_cast<algorithm>(kind % 4));
                        reduce_scatter scatter(t, 1000);
                        all_gather_parts<> parts(t, 1000);
                        broadcast<> shout(t, 1000);
                        all_gather_v blocks(t, 100, kind % 2 == 0 ? route::ring : route::direct);
                        barrier gate(t);
                        try {
                            for (std::uint64_t round = 0;; ++round) {
                                const tag label{0, 0, round};
                                const auto go = [&](auto& operation, auto&&... with) {
                                    operation.start(with..., label);
                                    if (t.rank() == dying && round == 2)
                                        throw std::domain_error("dead");
                                    run(t, operation);
                                };
                                switch (kind) {
                                    case 4: go(scatter, values); break;
                                    case 5: go(parts, values); break;
                                    case 6: go(gate); break;
                                    case 7:
                                        go(shout, values);
                                        go(gate);
                                        break;
                                    case 8: go(blocks, own); break;
                                    default: go(sum, values); break;
                                }
                                if (kind == 1)
                                    all_gather_values(t, 1, std::span(numbers), {1, 0, round});
                            }
                        } catch (const peer_failure& e) {
                            CHECK(e.rank() == Over::world_rank(dying));
                            CHECK(e.cause() == "dead");
                            ++told;
                            throw;
                        }
                    }),
                std::domain_error);
            CHECK(told == 3);
        }
}

TEST_CASE_TEMPLATE_APPLY(sums, all_transports);
TEST_CASE_TEMPLATE_APPLY(two_halves, all_transports);
TEST_CASE_TEMPLATE_APPLY(broadcasts, all_transports);
TEST_CASE_TEMPLATE_APPLY(gathers, all_transports);
TEST_CASE_TEMPLATE_APPLY(gathers_long_blocks, all_transports);
TEST_CASE_TEMPLATE_APPLY(gathers_early, all_transports);
TEST_CASE_TEMPLATE_APPLY(gathers_thriftily, all_transports);
TEST_CASE_TEMPLATE_APPLY(holds_back, all_transports);
TEST_CASE_TEMPLATE_APPLY(gathers_values, all_transports);
TEST_CASE_TEMPLATE_APPLY(refuses_values, all_transports);
TEST_CASE_TEMPLATE_APPLY(names_the_dead, all_transports);
