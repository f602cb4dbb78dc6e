#include "sotto/collectives/detail/sparse_all_reduce.hpp"
#include "sotto/collectives/sparse_all_reduce.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <map>
#include <numeric>
#include <set>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "sotto/collectives/detail/operation.hpp"
#include "sotto/collectives/detail/plan.hpp"
#include "sotto/core/random.hpp"
#include "sotto/transports/metered.hpp"
#include "sotto/transports/run_in_process.hpp"
#include "support/allocation_count.hpp"

using namespace sotto;
using namespace sotto::collectives;
using namespace sotto::detail::collectives;
using wire::value_format;

namespace {

struct entries {
    std::vector<std::uint32_t> indices;
    std::vector<float> values;

    detail::kernels::sparse_values view() const { return {indices, values}; }
    std::int64_t count() const { return static_cast<std::int64_t>(indices.size()); }
};

/// Multiples of 2^-6 below 4, none of them zero: sums of thousands are exact.
float small_value(random_stream& random) {
    const auto magnitude = static_cast<float>(1 + random.below(255)) / 64.0f;
    return random.below(2) == 0 ? magnitude : -magnitude;
}

/// `count` different elements of [begin, end).
entries some_of(std::int64_t begin, std::int64_t end, std::int64_t count, std::uint64_t seed) {
    random_stream random(seed);
    std::set<std::uint32_t> chosen;
    count = std::min(count, end - begin);
    while (static_cast<std::int64_t>(chosen.size()) < count)
        chosen.insert(static_cast<std::uint32_t>(
            begin +
            static_cast<std::int64_t>(random.below(static_cast<std::uint64_t>(end - begin)))));
    entries made;
    made.indices.assign(chosen.begin(), chosen.end());
    for (std::size_t j = 0; j < made.indices.size(); ++j)
        made.values.push_back(small_value(random));
    return made;
}

/// What each rank sends: how entries lie.
struct arrangement {
    const char* name;
    std::function<entries(std::int64_t n, std::int64_t k, int world, int rank)> of;
};

std::uint64_t seed_of(std::int64_t n, std::int64_t k, int rank) {
    return static_cast<std::uint64_t>(1000 * n + 10 * k + rank);
}

const std::vector<arrangement> arrangements{
    {"anywhere", [](std::int64_t n, std::int64_t k, int,
                    int rank) { return some_of(0, n, k, seed_of(n, k, rank)); }},
    {"the first elements",
     [](std::int64_t n, std::int64_t k, int, int rank) {
         return some_of(0, std::min(n, k), k, seed_of(n, k, rank));
     }},
    {"the same on all ranks",
     [](std::int64_t n, std::int64_t k, int, int) { return some_of(0, n, k, seed_of(n, k, 0)); }},
    {"each rank in a part of its own",
     [](std::int64_t n, std::int64_t k, int world, int rank) {
         const range part = part_of(n, world, rank);
         return some_of(part.begin, part.end, k, seed_of(n, k, rank));
     }},
    {"every other rank has none",
     [](std::int64_t n, std::int64_t k, int, int rank) {
         return rank % 2 == 0 ? entries{} : some_of(0, n, k, seed_of(n, k, rank));
     }},
    {"only the last rank has any",
     [](std::int64_t n, std::int64_t k, int world, int rank) {
         return rank < world - 1 ? entries{} : some_of(0, n, k, seed_of(n, k, rank));
     }},
    {"all in the stripes of rank 0",
     [](std::int64_t n, std::int64_t k, int world, int rank) {
         const stripes owners(n, world);
         entries made;
         random_stream random(seed_of(n, k, rank));
         for (std::int64_t place = 0; place < owners.places() && made.count() < k; ++place) {
             const std::uint64_t i = owners.element(0, static_cast<std::uint32_t>(place));
             if (i >= static_cast<std::uint64_t>(n)) break;
             made.indices.push_back(static_cast<std::uint32_t>(i));
             made.values.push_back(small_value(random));
         }
         return made;
     }},
    {"parts that cancel out", [](std::int64_t n, std::int64_t k, int, int rank) {
         entries made = some_of(0, n, k, seed_of(n, k, 0));
         for (float& value : made.values)
             if (rank % 2 == 1) value = -value;
         return made;
     }}};

/// What one rank ends with.
struct outcome {
    std::vector<entries> sums;  // by owner
    entries left;
};

entries copy_of(const detail::kernels::sparse_values& view) {
    return {{view.indices.begin(), view.indices.end()}, {view.values.begin(), view.values.end()}};
}

template <class Operation>
outcome outcome_of(const Operation& operation, int world) {
    outcome found;
    for (int rank = 0; rank < world; ++rank) found.sums.push_back(copy_of(operation.sums_of(rank)));
    found.left = copy_of(operation.left());
    return found;
}

std::vector<outcome> exchanged(const std::vector<entries>& given, std::int64_t n,
                               std::int64_t entries_max, std::int64_t kept,
                               value_format format = value_format::fp32,
                               in_process_options options = {}) {
    const int world = static_cast<int>(given.size());
    std::vector<outcome> found(given.size());
    run_in_process(world, options, [&](in_process& t) {
        const auto rank = static_cast<std::size_t>(t.rank());
        sparse_all_reduce sum(t, n, entries_max, kept, format);
        sum.start(given[rank].view(), kept, {});
        run(t, sum);
        found[rank] = outcome_of(sum, world);
    });
    return found;
}

void add_to(std::vector<double>& dense, const entries& some) {
    for (std::size_t j = 0; j < some.indices.size(); ++j)
        dense[some.indices[j]] += double{some.values[j]};
}

bool same(const entries& a, const entries& b) {
    return a.indices == b.indices && a.values == b.values;
}

void yield_at_random() {
    static std::atomic<std::uint64_t> threads = 0;
    thread_local random_stream random(++threads);
    for (auto times = random.below(3); times > 0; --times) std::this_thread::yield();
}

}  // namespace

TEST_CASE(
    "what is applied and what is left is what was given, bit for bit, on any number of ranks") {
    for (const int world : {1, 2, 3, 4, 5, 6, 7, 8, 9, 16})
        for (const std::int64_t n : {1, 40, 333, 5000})
            for (const double density : {0.01, 0.1, 1.0}) {
                const auto k =
                    static_cast<std::int64_t>(std::ceil(density * static_cast<double>(n)));
                if (n == 5000 && density == 1.0) continue;  // 333 show as much
                for (const arrangement& how : arrangements) {
                    std::vector<entries> given;
                    for (int rank = 0; rank < world; ++rank)
                        given.push_back(how.of(n, k, world, rank));
                    const auto found = exchanged(given, n, k, k);
                    std::vector<double> in(static_cast<std::size_t>(n)), out = in;
                    for (const entries& one : given) add_to(in, one);
                    for (const entries& one : found[0].sums) add_to(out, one);
                    for (const outcome& one : found) add_to(out, one.left);
                    if (in != out)
                        FAIL_CHECK("world ", world, ", n ", n, ", k ", k, ", ", how.name);
                    for (const outcome& one : found)
                        for (std::size_t owner = 0; owner < given.size(); ++owner)
                            if (!same(one.sums[owner], found[0].sums[owner]))
                                FAIL_CHECK("ranks differ: world ", world, ", n ", n, ", k ", k,
                                           ", ", how.name);
                    std::int64_t kept = 0;
                    for (const entries& one : found[0].sums) {
                        kept += one.count();
                        CHECK(one.count() <= (k + world - 1) / world);
                        CHECK(std::is_sorted(one.indices.begin(), one.indices.end()));
                    }
                    CHECK(kept < k + world);
                }
            }
}

TEST_CASE("the sums are those in the order of ranks, and of each owner's the largest are kept") {
    constexpr std::int64_t n = 2000, k = 300;
    for (const int world : {1, 2, 3, 5, 8}) {
        std::vector<entries> given;
        for (int rank = 0; rank < world; ++rank) {
            given.push_back(some_of(0, n, k, static_cast<std::uint64_t>(rank)));
            random_stream random(static_cast<std::uint64_t>(rank) + 99);
            for (float& value : given.back().values) value = random.normal();
        }
        std::vector<float> total(n);
        for (const entries& one : given)
            for (std::size_t j = 0; j < one.indices.size(); ++j)
                total[one.indices[j]] += one.values[j];
        const auto found = exchanged(given, n, k, k);
        const stripes owners(n, world);
        std::vector<std::uint32_t> all(n);
        std::iota(all.begin(), all.end(), 0u);
        std::vector<std::vector<std::uint32_t>> of_owner(static_cast<std::size_t>(world));
        owners.for_each(all, [&](std::size_t i, int rank, std::uint32_t) {
            if (total[i] != 0.0f)
                of_owner[static_cast<std::size_t>(rank)].push_back(static_cast<std::uint32_t>(i));
        });
        for (std::size_t owner = 0; owner < of_owner.size(); ++owner) {
            auto& expected = of_owner[owner];
            std::stable_sort(expected.begin(), expected.end(),
                             [&](std::uint32_t a, std::uint32_t b) {
                                 return std::abs(total[a]) > std::abs(total[b]);
                             });
            const auto most = static_cast<std::size_t>((k + world - 1) / world);
            std::vector<std::uint32_t> kept(
                expected.begin(),
                expected.begin() + static_cast<std::ptrdiff_t>(std::min(most, expected.size())));
            std::sort(kept.begin(), kept.end());
            const entries& sums = found[0].sums[owner];
            CHECK(sums.indices == kept);
            for (std::size_t j = 0; j < sums.indices.size(); ++j)
                CHECK(sums.values[j] == total[sums.indices[j]]);  // bit for bit: none is zero
            for (std::size_t j = 0; j < found[owner].left.indices.size(); ++j)
                CHECK(found[owner].left.values[j] == total[found[owner].left.indices[j]]);
        }
    }
}

TEST_CASE("the best are kept nearly as if one had chosen among all") {
    // Magnitudes that fall from one end of the tensor to the other: ranges of it would keep most
    // where little is.
    constexpr std::int64_t n = 100'000, k = 2000;
    constexpr int world = 8;
    std::vector<entries> given;
    std::vector<float> total(n);
    for (int rank = 0; rank < world; ++rank) {
        given.push_back(some_of(0, n, k, static_cast<std::uint64_t>(rank)));
        entries& one = given.back();
        random_stream random(static_cast<std::uint64_t>(rank) + 7);
        for (std::size_t j = 0; j < one.indices.size(); ++j) {
            one.values[j] =
                random.normal() * std::exp(-6.0f * static_cast<float>(one.indices[j]) / n);
            total[one.indices[j]] += one.values[j];
        }
    }
    const auto found = exchanged(given, n, k, k);
    double kept = 0.0, best = 0.0;
    for (const entries& one : found[0].sums)
        for (const float value : one.values) kept += std::abs(double{value});
    std::sort(total.begin(), total.end(),
              [](float a, float b) { return std::abs(a) > std::abs(b); });
    for (std::size_t j = 0; j < k; ++j) best += std::abs(double{total[j]});
    CHECK(kept <= best * (1.0 + 1e-6));
    CHECK(kept > 0.98 * best);
}

TEST_CASE(
    "from 4 to 16 ranks the bytes that a rank sends grow by less than 1.3, 2 k entries at most") {
    constexpr std::int64_t n = 1'000'000, k = 4000;
    for (const arrangement& how : arrangements) {
        if (std::string(how.name) == "parts that cancel out") continue;  // leaves nothing to send
        std::map<int, std::int64_t> most;
        for (const int world : {4, 16, 32}) {
            std::vector<std::int64_t> bytes(static_cast<std::size_t>(world));
            run_in_process(world, [&](in_process& inner) {
                metered t(inner, 4);
                sparse_all_reduce sum(t, n, k, k);
                sum.start(how.of(n, k, world, t.rank()).view(), k, {});
                run(t, sum);
                bytes[static_cast<std::size_t>(t.rank())] = t.counters().bytes_sent;
            });
            most[world] = *std::max_element(bytes.begin(), bytes.end());
            // A head and a filling for each message.
            CHECK(most[world] <=
                  wire::encoded_sparse_bytes_max(n, 2 * k + world, value_format::fp32) +
                      16 * world);
        }
        const bool shares_out = std::string(how.name) != "only the last rank has any" &&
                                std::string(how.name) != "all in the stripes of rank 0";
        if (!shares_out) continue;  // what few ranks do, they do alone
        INFO(how.name, ": ", most[4], " ", most[16], " ", most[32]);
        CHECK(static_cast<double>(most[16]) <= 1.3 * static_cast<double>(most[4]));
        CHECK(static_cast<double>(most[32]) <= 1.1 * static_cast<double>(most[16]));
    }
}

TEST_CASE("a rank receives about as much as it sends, wherever entries lie") {
    constexpr std::int64_t n = 1'000'000, k = 4000;
    constexpr int world = 16;
    for (const std::size_t which : {0u, 1u, 2u, 3u}) {
        const arrangement& how = arrangements[which];
        std::vector<std::int64_t> sent(world), received(world);
        run_in_process(world, [&](in_process& inner) {
            metered t(inner, 4);
            sparse_all_reduce sum(t, n, k, k);
            sum.start(how.of(n, k, world, t.rank()).view(), k, {});
            run(t, sum);
            sent[static_cast<std::size_t>(t.rank())] = t.counters().bytes_sent;
            received[static_cast<std::size_t>(t.rank())] = t.counters().bytes_received;
        });
        const double mean = std::accumulate(sent.begin(), sent.end(), 0.0) / world;
        INFO(how.name);
        CHECK(static_cast<double>(*std::max_element(sent.begin(), sent.end())) < 1.2 * mean);
        CHECK(static_cast<double>(*std::max_element(received.begin(), received.end())) <
              1.2 * mean);
    }
}

TEST_CASE("delays do not change a bit") {
    constexpr std::int64_t n = 700, k = 80;
    for (const int world : {2, 3, 7}) {
        std::vector<entries> given;
        for (int rank = 0; rank < world; ++rank)
            given.push_back(some_of(0, n, k, static_cast<std::uint64_t>(rank)));
        for (const auto format : {value_format::fp32, value_format::bf16}) {
            const auto expected = exchanged(given, n, k, k / 2, format);
            for (int attempt = 0; attempt < 5; ++attempt) {
                const auto found =
                    exchanged(given, n, k, k / 2, format, {.disturb = yield_at_random});
                for (std::size_t rank = 0; rank < found.size(); ++rank) {
                    CHECK(same(found[rank].left, expected[rank].left));
                    for (std::size_t owner = 0; owner < found.size(); ++owner)
                        CHECK(same(found[rank].sums[owner], expected[rank].sums[owner]));
                }
            }
        }
    }
}

TEST_CASE("in halves what rounding takes away from sums stays with their owner") {
    constexpr std::int64_t n = 500, k = 60;
    for (const auto format : {value_format::fp16, value_format::bf16})
        for (const int world : {1, 2, 5}) {
            std::vector<entries> given;
            for (int rank = 0; rank < world; ++rank) {
                given.push_back(some_of(0, n, k, static_cast<std::uint64_t>(rank)));
                for (float& value : given.back().values) value = wire::rounded(format, value);
            }
            const auto found = exchanged(given, n, k, k, format);
            std::vector<double> in(n), out(n);
            for (const entries& one : given) add_to(in, one);
            for (const entries& one : found[0].sums) {
                add_to(out, one);
                for (const float value : one.values) CHECK(value == wire::rounded(format, value));
            }
            for (const outcome& one : found) add_to(out, one.left);
            CHECK(in == out);
        }
}

TEST_CASE("as many sums are kept as this round asks for, and never more than were bound") {
    constexpr std::int64_t n = 1000, k = 200;
    run_in_process(4, [&](in_process& t) {
        sparse_all_reduce sum(t, n, k, 100);
        std::uint64_t round = 0;
        for (const std::int64_t kept : {100, 4, 1, 0, 60, 1000}) {
            const auto own = some_of(0, n, k, static_cast<std::uint64_t>(t.rank()));
            sum.start(own.view(), kept, {0, 0, round++});
            run(t, sum);
            const std::int64_t each = (std::min<std::int64_t>(kept, 100) + 3) / 4;
            for (int rank = 0; rank < 4; ++rank)
                CHECK(static_cast<std::int64_t>(sum.sums_of(rank).indices.size()) == each);
        }
    });
}

TEST_CASE("sparse all-reduce: every sum kept -> nothing is left") {
    for (const int world : {1, 2, 3, 4, 9})
        for (const std::int64_t n : {1, 40, 333}) {
            const std::int64_t k = (n + 9) / 10;
            for (const arrangement& how : arrangements) {
                std::vector<entries> given;
                for (int rank = 0; rank < world; ++rank) given.push_back(how.of(n, k, world, rank));
                const auto found = exchanged(given, n, k, detail::collectives::keep_all_sums);
                std::vector<double> in(static_cast<std::size_t>(n)), out = in;
                for (const entries& one : given) add_to(in, one);
                for (const entries& one : found[0].sums) add_to(out, one);
                CHECK(in == out);
                for (const outcome& one : found) CHECK(one.left.count() == 0);
            }
        }
}

TEST_CASE("many operations are under way at once, started in any order and moved") {
    constexpr std::int64_t n = 300, k = 40;
    run_in_process(3, [&](in_process& t) {
        std::vector<sparse_all_reduce> sums;
        for (int i = 0; i < 5; ++i) sums.emplace_back(t, n, k, k);
        for (std::uint64_t round = 0; round < 20; ++round) {
            for (std::uint32_t i = 0; i < 5; ++i) {
                const std::uint32_t which = (i + static_cast<std::uint32_t>(t.rank())) % 5;
                entries own = some_of(0, n, k, round * 5 + which);
                sums[which].start(own.view(), k, {0, which, round});
            }
            wait_all(t, std::span(sums));
            for (std::uint32_t which = 0; which < 5; ++which) {
                // Three times the same entries: k sums, but for an owner's share that is too small.
                const entries own = some_of(0, n, k, round * 5 + which);
                std::vector<float> dense(n);
                for (std::size_t j = 0; j < own.indices.size(); ++j)
                    dense[own.indices[j]] = 3.0f * own.values[j];
                for (int rank = 0; rank < 3; ++rank) {
                    const auto found = sums[which].sums_of(rank);
                    for (std::size_t j = 0; j < found.indices.size(); ++j)
                        CHECK(found.values[j] == dense[found.indices[j]]);
                }
            }
        }
    });
}

TEST_CASE("an operation that refused entries takes others") {
    run_in_process(1, [](in_process& t) {
        sparse_all_reduce sum(t, 10, 3, 3);
        const entries bad{{2, 1}, {1.0f, 1.0f}}, good{{1, 2}, {1.0f, 4.0f}};
        CHECK_THROWS_AS(sum.start(bad.view(), 3, {}), invalid_option);
        sum.start(good.view(), 3, {});
        CHECK(sum.advance());
        CHECK(same(copy_of(sum.sums_of(0)), good));
    });
}

TEST_CASE("misuse is refused with what was given") {
    run_in_process(1, [](in_process& t) {
        sparse_all_reduce sum(t, 10, 3, 3);
        const auto refused = [&](const entries& own) {
            try {
                sum.start(own.view(), 3, {});
            } catch (const invalid_option& e) {
                return std::string(e.what());
            }
            return std::string();
        };
        CHECK(refused({{1, 2, 3, 4}, {1, 1, 1, 1}}) ==
              "sparse_all_reduce: 4 indices and 4 values; expected as many of both, and at most 3");
        CHECK(refused({{1, 2}, {1}}) != "");
        CHECK(refused({{1, 10}, {1, 1}}) ==
              "sparse_all_reduce: entry 1 has index 10; indices rise and are below 10");
        CHECK(refused({{1, 1}, {1, 1}}) != "");
        CHECK(sum.advance());  // never started: complete
        CHECK_THROWS_AS((sparse_all_reduce(t, -1, 3, 3)), invalid_option);
        CHECK_THROWS_AS((sparse_all_reduce(t, 10, -3, 3)), invalid_option);
        CHECK_THROWS_AS((sparse_all_reduce(t, 10, 3, -3)), invalid_option);
        CHECK_THROWS_AS((sparse_all_reduce(t, (std::int64_t{1} << 32) + 1, 0, 0)), invalid_option);
        for (const double kept : {0.0, -1.0, std::numeric_limits<double>::quiet_NaN(),
                                  std::numeric_limits<double>::infinity()})
            CHECK_THROWS_AS(sparse_reduce_scatter{.kept = kept}.bind(t, 10, 3), invalid_option);
    });
    CHECK_THROWS_AS(run_in_process(2,
                                   [](in_process& t) {
                                       sparse_all_reduce sum(t, 10, 3, 3);
                                       const entries own{{1}, {1.0f}};
                                       sum.start(own.view(), 3, {});
                                       sum.start(own.view(), 3,
                                                 {});  // too early for one of the two
                                   }),
                    std::logic_error);
}

TEST_CASE("entries that are no block, lie beyond the tensor, or are too many, are refused") {
    // Rank 1 says by hand what no operation would.
    const auto told = [](std::int64_t n, const bytes& run_of_1, const bytes& sums_of_1) {
        std::string text;
        try {
            run_in_process(2, [&](in_process& t) {
                if (t.rank() == 0) {
                    sparse_all_reduce sum(t, n, 4, 4);
                    try {
                        sum.start({}, 4, {});
                        run(t, sum);
                    } catch (const detail::malformed_message& e) {
                        CHECK(e.rank() == 1);
                        text = e.what();
                        throw;
                    }
                    return;
                }
                bytes room(1000);
                const request run_of_0 = t.receive(0, {}, room);
                t.wait(t.send(0, {}, run_of_1));
                t.wait(run_of_0);
                const request sums_of_0 = t.receive(0, {}, room);
                t.wait(t.send(0, {}, sums_of_1));
                t.wait(sums_of_0);
            });
        } catch (const error&) {}
        return text;
    };
    const auto block = [](std::int64_t n, const entries& some,
                          value_format format = value_format::fp32) {
        bytes out;
        wire::encode_sparse(stripes(n, 2).places(), some.indices, some.values, format, out);
        return out;
    };
    CHECK(told(100, bytes(3, std::byte{0xFF}), {})
              .find("the entries of rank 0's stripes from rank 1: ") == 0);
    CHECK(told(100, {}, bytes(3, std::byte{0xFF}))
              .find("the entries of rank 1's stripes from rank 1: ") == 0);
    const std::int64_t n = 99;  // of 100 places one lies beyond
    const stripes owners(n, 2);
    const auto last = static_cast<std::uint32_t>(owners.places() - 1);
    const bool of_0 = owners.element(0, last) >= 99, of_1 = owners.element(1, last) >= 99;
    REQUIRE(of_0 != of_1);
    const bytes beyond = block(n, {{last}, {1.0f}});
    CHECK(told(n, of_0 ? beyond : bytes{}, of_1 ? beyond : bytes{})
              .find("expected places within the tensor, found") != std::string::npos);
    const entries three{{1, 2, 3}, {1, 1, 1}};
    // In halves three fit where two floats do.
    CHECK(told(100, {}, block(100, three, value_format::bf16))
              .find("at most as many as were bound, found 3") != std::string::npos);
    CHECK(told(100, block(100, three), block(100, {{1, 2}, {1, 1}})).empty());
}

TEST_CASE("nothing is allocated after the first round") {
    if (!support::allocation_count::works) return;
    constexpr std::int64_t n = 20'000;
    for (const std::int64_t k : {20, 1000, 20'000})
        run_in_process(4, [&](in_process& t) {
            std::vector<entries> own;
            for (std::uint64_t round = 0; round < 6; ++round)
                own.push_back(some_of(0, n, k / static_cast<std::int64_t>(round + 1),
                                      10 * round + static_cast<std::uint64_t>(t.rank())));
            std::rotate(own.begin(), own.begin() + 3, own.end());  // the fullest is not the first
            sparse_all_reduce sum(t, n, k, k);
            const auto round = [&](std::uint64_t number) {
                sum.start(own[number].view(), k, {0, 0, number});
                run(t, sum);
            };
            round(0);
            const support::allocation_count taken;
            for (std::uint64_t number = 1; number < 6; ++number) round(number);
            const std::int64_t count = taken.on_this_thread();
            CHECK(count == 0);
        });
}
