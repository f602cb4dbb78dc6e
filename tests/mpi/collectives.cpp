// Collectives between processes, by MPI's own and by messages.

#include <doctest/doctest.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <numeric>
#include <span>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "mpi/over_mpi.hpp"
#include "sotto/collectives/detail/all_gather_v.hpp"
#include "sotto/collectives/all_reduce.hpp"
#include "sotto/collectives/detail/barrier.hpp"
#include "sotto/collectives/detail/broadcast.hpp"
#include "sotto/transports/detail/native_collectives.hpp"
#include "sotto/collectives/detail/operation.hpp"
#include "sotto/core/errors.hpp"
#include "sotto/transports/group.hpp"
#include "sotto/transports/in_process.hpp"
#include "sotto/transports/metered.hpp"
#include "sotto/transports/run_in_process.hpp"
#include "support/generators.hpp"

using namespace sotto;
using namespace sotto::collectives;
using namespace sotto::detail::collectives;
using namespace sotto::testing;

static_assert(sotto::detail::native_transport<mpi>);
static_assert(!sotto::detail::native_transport<metered<mpi>>);  // it counts what it sees
static_assert(!sotto::detail::native_transport<group>);         // not all ranks take part

namespace {

mpi_options how(bool native) {
    return {.timeout = std::chrono::seconds(30), .native_collectives = native};
}

/// The bytes that a rank contributes in a round: another length and content each time, sometimes
/// none.
bytes block_of(int rank, std::uint64_t round, std::size_t bytes_max) {
    const auto size = (static_cast<std::size_t>(rank) * 37 + round * 11) % (bytes_max + 1);
    return bytes(size, std::byte(static_cast<unsigned>(rank) * 16 + static_cast<unsigned>(round)));
}

}  // namespace

TEST_CASE("MPI's own collectives are taken where they are wanted, and there is more than a rank") {
    for (int size = 1; size <= world_size(); ++size)
        for (const bool native : {true, false})
            CHECK(run_over_mpi(size, how(native), [&](mpi& t) {
                      const bool expected = native && size > 1;
                      const auto check = [&](auto* made, bool is_there) {
                          CHECK((made != nullptr) == is_there);
                          if (made) t.release(made);
                      };
                      check(t.native_barrier(), expected);
                      check(t.native_broadcast(100, 0), expected);
                      check(t.native_all_gather(100), expected);
                      // MPI counts in ints.
                      check(t.native_all_gather(std::int64_t{1} << 31), false);
                      for (int made = 3; made < 256; ++made) check(t.native_barrier(), expected);
                      check(t.native_barrier(), false);
                  }) == ending::none);
}

TEST_CASE("broadcast gives everybody the root's values, of any type") {
    for (const bool native : {true, false})
        CHECK(run_over_mpi(world_size(), how(native), [](mpi& t) {
                  for (int root = 0; root < t.size(); ++root)
                      for (const std::size_t n : {0u, 1u, 200000u}) {
                          broadcast<> floats(t, static_cast<std::int64_t>(n) + 1, root);
                          broadcast<std::byte> characters(t, static_cast<std::int64_t>(n), root);
                          std::vector<float> values(n);
                          std::vector<std::byte> text(n);
                          if (t.rank() == root) {
                              std::iota(values.begin(), values.end(), 1.0f);
                              for (std::size_t i = 0; i < n; ++i) text[i] = std::byte(i % 251);
                          }
                          for (std::uint64_t round = 0; round < 3; ++round) {
                              // Not in the same order everywhere.
                              if (t.rank() % 2 == 0) floats.start(values, {0, 0, round});
                              characters.start(text, {0, 1, round});
                              if (t.rank() % 2 == 1) floats.start(values, {0, 0, round});
                              run(t, floats, characters);
                          }
                          bool right = true;
                          for (std::size_t i = 0; i < n; ++i)
                              right = right && values[i] == static_cast<float>(i + 1) &&
                                      text[i] == std::byte(i % 251);
                          CHECK(right);
                          std::vector<float> too_many(n + 2);
                          CHECK_THROWS_AS(floats.start(too_many, {}), invalid_option);
                      }
              }) == ending::none);
}

TEST_CASE("a broadcast of another number of values is refused") {
    const ending ended = run_over_mpi(2, how(true), [](mpi& t) {
        broadcast<> all(t, 10, 0);
        std::vector<float> values(t.rank() == 0 ? 10 : 9, -1.0f);
        all.start(values, {});
        try {
            run(t, all);
            t.agree(true);
        } catch (const mismatch& e) {
            CHECK(std::string(e.what()) ==
                  "broadcast: rank 0 sent 40 bytes where 36 were expected");
            CHECK(values == std::vector<float>(9, -1.0f));
            throw;
        }
    });
    if (world_rank() == 1) CHECK(ended == ending::mismatch);
    if (world_rank() == 0) CHECK(ended == ending::peer_failure);
}

TEST_CASE("what ranks do not want alike is not MPI's own at any of them") {
    CHECK(run_over_mpi(world_size(), how(true), [](mpi& t) {
              const bool last = t.rank() == t.size() - 1;
              CHECK(t.native_broadcast(last ? 36 : 40, 0) == nullptr);
              CHECK(t.native_broadcast(40, last ? 1 : 0) == nullptr);
              CHECK(t.native_all_gather(last ? 10 : 1000) == nullptr);
              CHECK(t.native_all_gather(last ? std::int64_t{1} << 31 : 1000) == nullptr);
              const bool is_none =
                  last ? t.native_barrier() == nullptr : t.native_all_gather(0) == nullptr;
              CHECK(is_none);
              CHECK(t.native_all_gather(1000) != nullptr);
          }) == ending::none);
}

TEST_CASE("a rank that is bound to less room than others send is told so") {
    const auto on_last = [](const mpi& t) { return t.rank() == t.size() - 1; };
    const auto expect = [](ending ended) {
        CHECK(ended ==
              (world_rank() == world_size() - 1 ? ending::mismatch : ending::peer_failure));
    };
    expect(run_over_mpi(world_size(), how(true), [&](mpi& t) {
        broadcast<> all(t, on_last(t) ? 9 : 10, 0);
        std::vector<float> values(on_last(t) ? 9 : 10);
        all.start(values, {});
        run(t, all);
        t.agree(true);
    }));
    expect(run_over_mpi(world_size(), how(true), [&](mpi& t) {
        all_gather_v all(t, on_last(t) ? 10 : 1000);
        const bytes own(on_last(t) ? 10 : 1000);
        all.start(own, {});
        run(t, all);
        t.agree(true);
    }));
}

TEST_CASE("all_gather gives everybody the bytes of everybody, and counts each once") {
    for (const bool native : {true, false})
        for (const std::size_t bytes_max : {0u, 100u, 100000u})
            CHECK(run_over_mpi(world_size(), how(native), [&](mpi& t) {
                      all_gather_v blocks(t, static_cast<std::int64_t>(bytes_max));
                      for (std::uint64_t round = 0; round < 20; ++round) {
                          const traffic before = t.counters();
                          const bytes own = block_of(t.rank(), round, bytes_max);
                          blocks.start(own, {0, 0, round});
                          run(t, blocks);
                          std::int64_t others = 0;
                          for (int rank = 0; rank < t.size(); ++rank) {
                              CHECK(blocks.arrived(rank));
                              const byte_view got = blocks.block_of(rank);
                              CHECK(bytes(got.begin(), got.end()) ==
                                    block_of(rank, round, bytes_max));
                              if (rank != t.rank()) others += std::int64_t(got.size());
                          }
                          CHECK(t.counters().bytes_received - before.bytes_received == others);
                          if (native)
                              CHECK(t.counters().bytes_sent - before.bytes_sent ==
                                    std::int64_t(own.size()) * (t.size() - 1));
                      }
                  }) == ending::none);
}

TEST_CASE("nobody passes a barrier before everybody has come") {
    for (const bool native : {true, false}) {
        shared_count come;
        CHECK(run_over_mpi(world_size(), how(native), [&](mpi& t) {
                  barrier gate(t);
                  for (int round = 1; round <= 20; ++round) {
                      ++come;
                      gate.start({0, 0, static_cast<std::uint64_t>(round)});
                      run(t, gate);
                      CHECK(come >= round * t.size());
                  }
              }) == ending::none);
    }
}

TEST_CASE("sums are the same bits as between threads, whoever gathers") {
    const std::int64_t n = 100'000;
    const auto sum = [&](auto& t) {
        auto values = normal_values(n, static_cast<std::uint64_t>(t.rank()));
        sotto::detail::collectives::all_reduce all(t, n);
        all.start(values, {});
        run(t, all);
        return values;
    };
    std::vector<float> between_threads;
    run_in_process(world_size(), [&](in_process& t) {
        const auto values = sum(t);
        if (t.rank() == 0) between_threads = values;
    });
    CHECK(run_over_mpi(world_size(), [&](mpi& t) { CHECK(sum(t) == between_threads); }) ==
          ending::none);
}

TEST_CASE("a rank that dies in the middle of MPI's own collective is named by all others") {
    for (const int kind : {0, 1, 2}) {
        shared_count told;
        const int dying = world_size() - 1;
        run_over_mpi(world_size(), how(true), [&](mpi& t) {
            t.agree(true);
            std::vector<float> values(1000, 1.0f);
            const bytes own(100);
            broadcast<> shout(t, 1000, dying);
            all_gather_v blocks(t, 100);
            barrier gate(t);
            try {
                for (std::uint64_t round = 0;; ++round) {
                    const auto go = [&](auto& operation, auto&&... with) {
                        if (t.rank() == dying && round == 2) throw std::domain_error("dead");
                        operation.start(with..., tag{0, 0, round});
                        run(t, operation);
                    };
                    if (kind == 0) go(gate);
                    if (kind == 1) go(shout, values);
                    if (kind == 2) go(blocks, own);
                }
            } catch (const peer_failure& e) {
                CHECK(e.rank() == dying);
                CHECK(e.cause() == "dead");
                ++told;
                throw;
            }
        });
        CHECK(told == world_size() - 1);
    }
}
