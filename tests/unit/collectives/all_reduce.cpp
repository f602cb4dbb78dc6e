#include <doctest/doctest.h>

#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <span>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "sotto/collectives/all_reduce.hpp"
#include "sotto/collectives/detail/operation.hpp"
#include "sotto/collectives/detail/planned.hpp"
#include "sotto/core/errors.hpp"
#include "sotto/core/random.hpp"
#include "sotto/transports/in_process.hpp"
#include "sotto/transports/run_in_process.hpp"
#include "sotto/wire/value_format.hpp"
#include "support/allocation_count.hpp"
#include "support/generators.hpp"

using namespace sotto;
using namespace sotto::collectives;
using namespace sotto::detail::collectives;
using wire::value_format;

namespace {

using rows = std::vector<std::vector<float>>;  // by rank

rows random_rows(int world, std::int64_t n, std::uint64_t seed) {
    rows values;
    for (int rank = 0; rank < world; ++rank)
        values.push_back(testing::normal_values(n, seed + static_cast<std::uint64_t>(rank)));
    return values;
}

bool same_bits(std::span<const float> a, std::span<const float> b) {
    return a.size() == b.size() &&
           (a.empty() || std::memcmp(a.data(), b.data(), a.size_bytes()) == 0);
}

// Value i of the sum, in the order that the headers document: what is sent is rounded, and so is
// the result.

float by_ring(const rows& x, std::size_t i, value_format format) {
    const auto world = static_cast<int>(x.size());
    int home = 0;
    while (part_of(static_cast<std::int64_t>(x[0].size()), world, home).end <=
           static_cast<std::int64_t>(i))
        ++home;
    float sum = x[static_cast<std::size_t>((home + 1) % world)][i];
    for (int hop = 2; hop <= world; ++hop)
        sum = x[static_cast<std::size_t>((home + hop) % world)][i] + wire::rounded(format, sum);
    return sum;
}

float by_tree(const rows& x, std::size_t i, value_format format, std::size_t rank = 0) {
    float sum = x[rank][i];
    for (std::size_t child = 1;
         rank + child < x.size() && (rank == 0 || child < (rank & (0 - rank))); child *= 2)
        sum += wire::rounded(format, by_tree(x, i, format, rank + child));
    return sum;
}

float by_halves(const rows& x, std::size_t i, value_format format) {
    const std::size_t core = std::bit_floor(x.size());
    std::vector<float> sums(core);
    for (std::size_t r = 0; r < core; ++r)
        sums[r] = r + core < x.size() ? x[r][i] + wire::rounded(format, x[r + core][i]) : x[r][i];
    std::size_t begin = 0, end = x[0].size(), owner = 0;
    for (std::size_t distance = core / 2; distance > 0; distance /= 2) {
        std::vector<float> next(core);
        for (std::size_t r = 0; r < core; ++r)
            next[r] = sums[r] + wire::rounded(format, sums[r ^ distance]);
        sums = next;
        const std::size_t middle = begin + (end - begin) / 2;
        if (i < middle) {
            end = middle;
        } else {
            begin = middle;
            owner |= distance;
        }
    }
    return sums[owner];
}

float by_doubling(const rows& x, std::size_t i) {
    const std::size_t core = std::bit_floor(x.size());
    std::vector<float> sums(core);
    for (std::size_t r = 0; r < core; ++r)
        sums[r] = r + core < x.size() ? x[r][i] + x[r + core][i] : x[r][i];
    for (std::size_t distance = 1; distance < core; distance *= 2) {
        std::vector<float> next(core);
        for (std::size_t r = 0; r < core; ++r) next[r] = sums[r] + sums[r ^ distance];
        sums = next;
    }
    return sums[0];
}

std::vector<float> reference(const rows& x, algorithm which, value_format format) {
    std::vector<float> sum(x[0].size());
    for (std::size_t i = 0; i < sum.size(); ++i) {
        const bool doubles = which == algorithm::recursive_doubling && format == value_format::fp32;
        const float value = which == algorithm::ring   ? by_ring(x, i, format)
                            : which == algorithm::tree ? by_tree(x, i, format)
                            : doubles                  ? by_doubling(x, i)
                                                       : by_halves(x, i, format);
        sum[i] = x.size() == 1 ? value : wire::rounded(format, value);
    }
    return sum;
}

const auto every_algorithm = {algorithm::ring, algorithm::tree, algorithm::halving_doubling,
                              algorithm::recursive_doubling};
const auto every_format = {value_format::fp32, value_format::fp16, value_format::bf16};

void yield_at_random() {
    static std::atomic<std::uint64_t> threads = 0;
    thread_local random_stream random(++threads);
    for (auto times = random.below(3); times > 0; --times) std::this_thread::yield();
}

}  // namespace

TEST_CASE("all ranks end with the sum in the documented order, bit for bit") {
    for (const int world : {1, 2, 3, 4, 5, 6, 7, 8, 9, 16})
        for (const std::int64_t n : {0, 1, 2, 3, 5, 8, 13, 16, 31, 50})
            for (const auto format : every_format) {
                const rows given = random_rows(world, n, static_cast<std::uint64_t>(1000 * n));
                std::vector<std::vector<float>> expected;
                for (const auto which : every_algorithm)
                    expected.push_back(reference(given, which, format));
                run_in_process(world, [&](in_process& t) {
                    std::size_t k = 0;
                    for (const auto which : every_algorithm) {
                        detail::collectives::all_reduce sum(t, n, which, format);
                        auto values = given[static_cast<std::size_t>(t.rank())];
                        sum.start(values, {0, static_cast<std::uint32_t>(which), 0});
                        run(t, sum);
                        if (!same_bits(values, expected[k++]))
                            FAIL_CHECK("world ", world, ", n ", n, ", algorithm ",
                                       static_cast<int>(which), ", format ",
                                       static_cast<int>(format), ", rank ", t.rank());
                    }
                });
            }
}

TEST_CASE("segments and delays do not change a bit") {
    for (const int world : {2, 3, 4, 7})
        for (const std::int64_t segment : {1, 3, 16})
            for (const auto format : every_format) {
                const std::int64_t n = 101;
                const rows given = random_rows(world, n, 7);
                std::vector<std::vector<float>> expected;
                for (const auto which : every_algorithm)
                    expected.push_back(reference(given, which, format));
                run_in_process(world, {.disturb = yield_at_random}, [&](in_process& t) {
                    std::size_t k = 0;
                    for (const auto which : every_algorithm) {
                        planned sum(t, all_reduce_plan(t.rank(), world, which, format), n, format,
                                    segment);
                        auto values = given[static_cast<std::size_t>(t.rank())];
                        sum.start(values, {});
                        run(t, sum);
                        CHECK(same_bits(values, expected[k++]));
                    }
                });
            }
}

TEST_CASE("large sums of integers are exact") {
    for (const int world : {2, 3, 4}) {
        constexpr std::int64_t n = 600001;
        run_in_process(world, [&](in_process& t) {
            for (const auto which : every_algorithm) {
                auto values = testing::integer_values(n, 1);
                auto expected = values;
                for (float& v : expected) v *= static_cast<float>(world);
                detail::collectives::all_reduce sum(t, n, which);
                sum.start(values, {});
                run(t, sum);
                CHECK(same_bits(values, expected));
            }
        });
    }
}

TEST_CASE(
    "one operation sums any number of values up to the one it was bound for, again and again") {
    run_in_process(3, [](in_process& t) {
        detail::collectives::all_reduce sum(t, 1000);
        for (std::int64_t round = 0; round < 100; ++round) {
            const std::int64_t n = round * 97 % 1001;
            auto values = testing::integer_values(n, 3);
            auto expected = values;
            for (float& v : expected) v *= 3.0f;
            sum.start(values, {0, 0, static_cast<std::uint64_t>(round)});
            run(t, sum);
            CHECK(same_bits(values, expected));
        }
    });
}

TEST_CASE("many operations are under way at once, started and advanced in any order") {
    constexpr int world = 4;
    constexpr std::uint32_t operations = 24;
    run_in_process(world, {.disturb = yield_at_random}, [&](in_process& t) {
        std::vector<detail::collectives::all_reduce> sums;
        std::vector<std::vector<float>> values, expected;
        const auto algorithm_of = [](std::uint32_t i) { return static_cast<algorithm>(i % 4); };
        for (std::uint32_t i = 0; i < operations; ++i) {
            const std::int64_t n = 40 * i;
            sums.emplace_back(t, n, algorithm_of(i));
            values.push_back(testing::integer_values(n, i));
            expected.push_back(values.back());
            for (float& v : expected.back()) v *= world;
        }
        for (std::uint64_t round = 0; round < 5; ++round) {
            auto current = values;
            for (std::uint32_t i = 0; i < operations; ++i) {  // each rank starts somewhere else
                const std::uint32_t k =
                    (i * 7 + static_cast<std::uint32_t>(t.rank()) * 5) % operations;
                sums[k].start(current[k], {1, k, round});
                for (std::uint32_t other = 0; other < operations; ++other)
                    sums[(k + other) % operations].advance();
            }
            wait_all(t, std::span(sums));
            for (std::uint32_t i = 0; i < operations; ++i)
                CHECK(same_bits(current[i], expected[i]));
        }
    });
}

TEST_CASE("an operation may be moved while it is under way") {
    run_in_process(2, [](in_process& t) {
        std::vector<float> values(100, 1.0f);
        planned first(t, ring_plan(t.rank(), 2), 100, value_format::fp16, 3);
        first.start(values, {});
        auto second = std::move(first);
        run(t, second);
        CHECK(values == std::vector<float>(100, 2.0f));
    });
}

TEST_CASE("a ring sends exactly 2(N-1)/N of the values, in the size of their format") {
    for (const int world : {2, 3, 4, 8})
        for (const auto format : every_format) {
            const std::int64_t n = 24 * 5;
            run_in_process(world, [&](in_process& t) {
                auto sum = ring{}.bind(t, n, format);
                std::vector<float> values(static_cast<std::size_t>(n), 1.0f);
                sum.start(values, {});
                run(t, sum);
                CHECK(t.counters().bytes_sent ==
                      2 * (world - 1) * n / world * wire::bytes_per_value(format));
                CHECK(t.counters().bytes_received == t.counters().bytes_sent);
            });
        }
}

TEST_CASE("infinities and NaN reach all ranks alike") {
    constexpr float infinity = std::numeric_limits<float>::infinity();
    constexpr float nan = std::numeric_limits<float>::quiet_NaN();
    for (const auto which : every_algorithm)
        for (const auto format : every_format) {
            std::vector<std::vector<float>> ends(3);
            run_in_process(3, [&](in_process& t) {
                std::vector<float> values(9, 1e38f);  // not a half, and their sum not a float
                values[static_cast<std::size_t>(t.rank())] = nan;
                values[static_cast<std::size_t>(t.rank()) + 3] = infinity;
                detail::collectives::all_reduce sum(t, 9, which, format);
                sum.start(values, {});
                run(t, sum);
                ends[static_cast<std::size_t>(t.rank())] = values;
            });
            CHECK(same_bits(ends[0], ends[1]));
            CHECK(same_bits(ends[0], ends[2]));
            for (std::size_t i = 0; i < 3; ++i) {
                CHECK(ends[0][i] != ends[0][i]);
                CHECK(ends[0][i + 3] == infinity);
            }
        }
}

TEST_CASE("ranks that sum different numbers of values are told so") {
    for (const auto which : every_algorithm)
        CHECK_THROWS_AS(run_in_process(2,
                                       [&](in_process& t) {
                                           std::vector<float> values(t.rank() == 0 ? 10 : 12, 1.0f);
                                           detail::collectives::all_reduce sum(t, 12, which);
                                           sum.start(values, {});
                                           run(t, sum);
                                       }),
                        mismatch);
}

TEST_CASE("misuse of an operation is refused") {
    run_in_process(1, [](in_process& t) {
        std::vector<float> values(11);
        detail::collectives::all_reduce sum(t, 10);
        CHECK_THROWS_AS(sum.start(values, {}), invalid_option);
        CHECK_THROWS_AS((detail::collectives::all_reduce(t, -1)), invalid_option);
        CHECK(sum.advance());  // never started: complete
    });
    CHECK_THROWS_AS(run_in_process(2,
                                   [](in_process& t) {
                                       std::vector<float> values(10);
                                       detail::collectives::all_reduce sum(t, 10);
                                       sum.start(values, {});
                                       sum.start(values, {});  // too early for one of the two
                                   }),
                    std::logic_error);
}

TEST_CASE("nothing is allocated after the first round") {
    if (!support::allocation_count::works) return;
    run_in_process(3, [](in_process& t) {
        for (const auto format : every_format) {
            std::vector<detail::collectives::all_reduce> sums;
            std::vector<std::vector<float>> values;
            for (const auto which : every_algorithm)
                for (const std::int64_t n : {5, 300, 20000}) {
                    sums.emplace_back(t, n, which, format);
                    values.emplace_back(n, 1.0f);
                }
            const auto round = [&](std::uint64_t number) {
                for (std::size_t i = 0; i < sums.size(); ++i)
                    sums[i].start(values[i], {0, static_cast<std::uint32_t>(i), number});
                wait_all(t, std::span(sums));
            };
            round(0);
            const support::allocation_count taken;
            for (std::uint64_t number = 1; number < 5; ++number) round(number);
            const std::int64_t count = taken.on_this_thread();
            CHECK(count == 0);
        }
    });
}
