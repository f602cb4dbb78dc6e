// What sparse_all_reduce promises over every transport.

#include <doctest/doctest.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <vector>

#include "sotto/collectives/detail/operation.hpp"
#include "sotto/collectives/detail/sparse_all_reduce.hpp"
#include "sotto/collectives/sparse_all_reduce.hpp"
#include "sotto/core/errors.hpp"
#include "support/all_transports.hpp"
#include "support/generators.hpp"

using namespace sotto;
using namespace sotto::collectives;
using namespace sotto::detail::collectives;
using namespace sotto::testing;

namespace {

/// Every third element from `rank` on.
struct thirds {
    std::vector<std::uint32_t> indices;
    std::vector<float> values;

    thirds(std::int64_t n, int rank, std::uint64_t round) {
        const auto all = integer_values(n, 100 * round + static_cast<std::uint64_t>(rank));
        for (auto i = static_cast<std::uint32_t>(rank % 3); i < all.size(); i += 3) {
            indices.push_back(i);
            values.push_back(all[i]);
        }
    }
};

}  // namespace

TEST_CASE_TEMPLATE_DEFINE("all sums are kept where there is room for them", Over, sums_all) {
    constexpr std::int64_t n = 500;
    for (const int world : {1, 2, 3, 4, 5, 8})
        Over::run(world, [&](auto& t) {
            sparse_all_reduce sum(t, n, n, n * world);
            for (std::uint64_t round = 0; round < 3; ++round) {
                std::vector<float> expected(static_cast<std::size_t>(n));
                for (int rank = 0; rank < world; ++rank) {
                    const thirds one(n, rank, round);
                    for (std::size_t j = 0; j < one.indices.size(); ++j)
                        expected[one.indices[j]] += one.values[j];
                }
                const thirds own(n, t.rank(), round);
                sum.start({own.indices, own.values}, n * world, {0, 0, round});
                run(t, sum);
                std::vector<float> found(expected.size());
                for (int rank = 0; rank < world; ++rank) {
                    const auto sums = sum.sums_of(rank);
                    for (std::size_t j = 0; j < sums.indices.size(); ++j)
                        found[sums.indices[j]] += sums.values[j];
                }
                CHECK(found == expected);
                CHECK(sum.left().indices.empty());
            }
        });
}

TEST_CASE_TEMPLATE_DEFINE("a rank that dies in the middle is named by all others", Over,
                          names_the_dead) {
    for (int dying = 0; dying < 4; ++dying) {
        std::atomic<int> told = 0;
        CHECK_THROWS_AS(
            Over::run(4,
                      [&](auto& t) {
                          t.agree(true);
                          sparse_all_reduce sum(t, 500, 500, 500);
                          try {
                              for (std::uint64_t round = 0;; ++round) {
                                  const thirds own(500, t.rank(), round);
                                  sum.start({own.indices, own.values}, 500, {0, 0, round});
                                  if (t.rank() == dying && round == 2)
                                      throw std::domain_error("dead");
                                  run(t, sum);
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

TEST_CASE_TEMPLATE_APPLY(sums_all, all_transports);
TEST_CASE_TEMPLATE_APPLY(names_the_dead, all_transports);
