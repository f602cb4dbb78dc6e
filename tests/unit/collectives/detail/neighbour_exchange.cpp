#include "sotto/collectives/detail/neighbour_exchange.hpp"

#include <doctest/doctest.h>

#include <bit>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <limits>
#include <mutex>
#include <numbers>
#include <span>
#include <string>
#include <vector>

#include "sotto/collectives/detail/operation.hpp"
#include "sotto/kernels/detail/simd/reductions.hpp"
#include "sotto/topologies/complete.hpp"
#include "sotto/topologies/edge_list.hpp"
#include "sotto/topologies/exponential.hpp"
#include "sotto/topologies/hypercube.hpp"
#include "sotto/topologies/lazy.hpp"
#include "sotto/topologies/ring.hpp"
#include "sotto/topologies/spectrum.hpp"
#include "sotto/topologies/star.hpp"
#include "sotto/topologies/torus.hpp"
#include "sotto/topologies/tree.hpp"
#include "sotto/transports/run_simulated.hpp"
#include "support/all_transports.hpp"
#include "support/generators.hpp"
#include "support/plain_mixing.hpp"
#include "support/quarters.hpp"

using namespace sotto;
using sotto::detail::collectives::mixing_by, sotto::detail::collectives::neighbour_exchange,
    testing::quarters;

namespace {

using rows = std::vector<std::vector<float>>;

rows integers(int ranks, std::int64_t n) {
    rows x;
    for (int rank = 0; rank < ranks; ++rank)
        x.push_back(testing::integer_values(n, static_cast<std::uint64_t>(rank) + 1));
    return x;
}

struct mixed {
    rows x;
    std::vector<double> squared_changes;  // of each rank, in the last round
};

/// `rounds` rounds on every rank, all values released at once or in pieces.
template <class Over = testing::over_in_process, class Topology>
mixed after(rows x, const Topology& topology, int rounds = 1, std::int64_t piece = 0,
            detail::collectives::mixing_by how = detail::collectives::mixing_by::differences) {
    const int ranks = static_cast<int>(x.size());
    mixed result{x, std::vector<double>(x.size())};
    Over::run(ranks, [&](auto& transport) {
        auto state = topology.bind(ranks);
        const auto me = static_cast<std::size_t>(transport.rank());
        auto& values = result.x[me];
        detail::collectives::neighbour_exchange exchange(transport, std::ssize(values),
                                                         state.matrix(0).degree(), how);
        for (int round = 0; round < rounds; ++round) {
            exchange.start(values, state.matrix(round),
                           {channels::gossip, 0, static_cast<std::uint64_t>(round)});
            for (std::int64_t from = std::ssize(values); piece > 0 && from > 0; from -= piece) {
                exchange.release(from);
                (void)exchange.advance();
            }
            exchange.release(0);
            exchange.release(std::ssize(values));  // takes nothing back
            detail::collectives::run(transport, exchange);
        }
        result.squared_changes[me] = exchange.squared_change();
    });
    return result;
}

std::vector<double> sums(const rows& x) {
    std::vector<double> sum(x.front().size());
    for (const auto& values : x)
        for (std::size_t i = 0; i < sum.size(); ++i) sum[i] += values[i];
    return sum;
}

/// Of values at one place, in double.
double squared_distance(const rows& x, std::size_t place) {
    std::vector<double> values;
    for (const auto& of_rank : x) values.push_back(of_rank[place]);
    return testing::squared_distance_to_mean(values);
}

/// Ranks that differ by a vector alone, as far at some places as at others.
rows along(int ranks, auto direction) {
    rows x;
    for (int rank = 0; rank < ranks; ++rank) {
        x.emplace_back();
        for (int i = 1; i <= 37; ++i)
            x.back().push_back(static_cast<float>(direction(rank) * i * i));
    }
    return x;
}

auto wave_of(int length) {
    return [length](int rank) { return std::cos(2.0 * std::numbers::pi * rank / length); };
}
double to_and_fro(int rank) {
    return rank % 2 == 0 ? 1.0 : -1.0;
}

struct apart_by {
    double estimate, distance, lambda, p;
};

/// What a round estimates, and what it is of.
template <class Topology>
apart_by apart(const rows& x, const Topology& topology) {
    const int ranks = static_cast<int>(x.size());
    auto state = topology.bind(ranks);
    const auto summary = topologies::summary_of(state);
    double change = 0.0, square = 0.0;
    for (const double c : after(x, topology).squared_changes) change += c / ranks;
    for (std::size_t i = 0; i < x[0].size(); ++i) square += squared_distance(x, i) / ranks;
    return {std::sqrt(change), std::sqrt(square), summary.second_singular_value, summary.p()};
}

}  // namespace

TEST_CASE_TEMPLATE("the mean is kept exactly where weights are powers of two", Over,
                   testing::over_in_process, testing::over_group, testing::over_simulated) {
    for (const int ranks : {2, 3, 5, 8})
        for (const std::int64_t n : {0, 1, 1000, 70'000}) {
            const auto x = integers(ranks, n);
            CHECK(sums(after<Over>(x, quarters{}, 4).x) == sums(x));
        }
}

TEST_CASE("pieces and segments change no bit of what is mixed") {
    rows x;
    for (std::uint64_t rank = 0; rank < 6; ++rank)
        x.push_back(testing::normal_values(100'003, rank + 1));
    const auto whole = after(x, topologies::torus{.rows = 2, .columns = 3}, 2);
    for (const std::int64_t piece : {77, 5000, 65'536, 100'002})
        CHECK(after(x, topologies::torus{.rows = 2, .columns = 3}, 2, piece).x == whole.x);
    for (std::size_t i = 0; i < 100; ++i) {
        double expected = x[0][i];
        const auto state = topologies::torus{.rows = 2, .columns = 3}.bind(6);
        for (const auto& n : state.matrix(0).into(0))
            expected += n.weight * (double{x[static_cast<std::size_t>(n.rank)][i]} - x[0][i]);
        CHECK(after(x, topologies::torus{.rows = 2, .columns = 3}).x[0][i] ==
              doctest::Approx(expected).epsilon(1e-6));
        if (i == 3) break;  // each costs a run
    }
}

TEST_CASE("by one peer a round everybody has the same bits after log2 n rounds") {
    for (const int ranks : {2, 4, 8}) {
        const auto x = integers(ranks, 500);
        const auto mean = sums(x);
        const auto y = after(x, topologies::one_peer_exponential{},
                             std::countr_zero(static_cast<unsigned>(ranks)))
                           .x;
        for (const auto& values : y)
            for (std::size_t i = 0; i < values.size(); ++i)
                REQUIRE(static_cast<double>(values[i]) * ranks == mean[i]);
    }
}

TEST_CASE_TEMPLATE("a round leaves no more than 1 - p of a squared distance to the mean", Topology,
                   topologies::ring, topologies::torus, topologies::hypercube,
                   topologies::exponential, topologies::star, topologies::tree,
                   topologies::lazy<topologies::ring>) {
    for (const int ranks : {2, 5, 8, 12, 16}) {
        CAPTURE(ranks);
        rows x;
        for (int rank = 0; rank < ranks; ++rank)
            x.push_back(testing::normal_values(100, 500 + static_cast<std::uint64_t>(rank)));
        const rows y = after(x, Topology{}, 1).x;
        auto state = Topology{}.bind(ranks);
        const double left = 1.0 - topologies::summary_of(state).p();
        for (std::size_t i = 0; i < 100; ++i)
            CHECK(squared_distance(y, i) <= left * squared_distance(x, i) * (1 + 1e-5) + 1e-12);
    }
}

TEST_CASE("on the second singular vector it leaves just 1 - p of it") {
    const auto leaves = [](const auto& topology, int ranks, auto direction) {
        CAPTURE(ranks);
        const rows x = along(ranks, direction), y = after(x, topology).x;
        auto state = topology.bind(ranks);
        const double p = topologies::summary_of(state).p();
        for (std::size_t i = 0; i < x[0].size(); ++i)
            CHECK(squared_distance(y, i) ==
                  doctest::Approx((1 - p) * squared_distance(x, i)).epsilon(1e-5));
    };
    for (const int ranks : {4, 8, 16}) leaves(topologies::ring{}, ranks, wave_of(ranks));
    leaves(topologies::torus{}, 12, wave_of(4));  // along rows of 4
    leaves(topologies::torus{}, 16, wave_of(4));
    for (const int ranks : {8, 16}) {
        leaves(topologies::hypercube{}, ranks, to_and_fro);
        leaves(topologies::exponential{}, ranks, to_and_fro);  // links of one way
    }
    const auto two_leaves = [](int rank) { return rank == 1 ? 1.0 : rank == 2 ? -1.0 : 0.0; };
    for (const int ranks : {5, 12}) leaves(topologies::star{}, ranks, two_leaves);
}

TEST_CASE("the distance lies between half the estimate and the estimate over 1 - lambda") {
    const auto check = [](const auto& topology, int ranks, std::uint64_t seed) {
        rows x;
        for (int rank = 0; rank < ranks; ++rank)
            x.push_back(testing::normal_values(300, seed * 100 + static_cast<std::uint64_t>(rank)));
        const auto [estimate, distance, lambda, p] = apart(x, topology);
        CHECK(estimate / 2 <= distance * (1 + 1e-6));
        CHECK(distance <= estimate / (1 - lambda) * (1 + 1e-6));
        CHECK(estimate / (1 - lambda) <= 2 / p * estimate * (1 + 1e-6));
    };
    for (std::uint64_t seed = 1; seed <= 5; ++seed) {
        check(topologies::ring{}, 8, seed);
        check(topologies::ring{}, 3, seed);
        check(topologies::torus{}, 12, seed);
        check(topologies::complete{}, 4, seed);
    }
}

TEST_CASE("where ranks differ by the vector that shrinks least or turns most it is at a bound") {
    // At the upper one, which nears 2 / p times the estimate as lambda nears 1.
    const auto shrinks_least = [](const auto& topology, int ranks, auto direction) {
        CAPTURE(ranks);
        const auto [estimate, distance, lambda, p] = apart(along(ranks, direction), topology);
        CHECK(distance == doctest::Approx(estimate / (1 - lambda)).epsilon(1e-5));
        CHECK(distance == doctest::Approx((1 + lambda) / p * estimate).epsilon(1e-5));
        return distance / (2 / p * estimate);
    };
    CHECK(shrinks_least(topologies::ring{}, 8, wave_of(8)) < 0.91);
    CHECK(shrinks_least(topologies::ring{}, 32, wave_of(32)) > 0.993);
    shrinks_least(topologies::torus{}, 12, wave_of(4));
    shrinks_least(topologies::hypercube{}, 8, to_and_fro);
    // An eigenvalue below 0 turns what ranks are apart: the estimate is 1 - it times the distance,
    // and nears twice that as it nears -1.
    const auto turns = [](const auto& topology, int ranks) {
        const auto of = apart(along(ranks, to_and_fro), topology);
        const auto state = topology.bind(ranks);
        const double smallest = topologies::smallest_eigenvalue(state.matrix(0));
        CHECK(of.estimate == doctest::Approx((1 - smallest) * of.distance).epsilon(1e-5));
        return of.estimate / of.distance;
    };
    CHECK(turns(topologies::ring{}, 8) == doctest::Approx(4.0 / 3));
    const topologies::edge_list nearly_to_and_fro{
        {{0, 1, 0.499}, {1, 2, 0.499}, {2, 3, 0.499}, {3, 0, 0.499}}};
    CHECK(turns(nearly_to_and_fro, 4) > 1.99);
}

TEST_CASE("by shares the sum is kept where links go one way") {
    const topologies::edge_list graph{{{0, 1}, {0, 2}, {1, 2}, {2, 3}, {3, 0}}, true};
    rows x;
    for (std::uint64_t rank = 0; rank < 4; ++rank)
        x.push_back(testing::normal_values(50, rank + 9));
    const auto before = sums(x),
               now = sums(after(x, graph, 7, 0, detail::collectives::mixing_by::shares).x);
    for (std::size_t i = 0; i < before.size(); ++i)
        CHECK(now[i] == doctest::Approx(before[i]).epsilon(1e-5));
}

TEST_CASE("what a rank shares out and keeps adds up to what it had, exactly") {
    // Of degrees whose reciprocals are no floats, and by weights of all sizes.
    const topologies::edge_list by_degree{
        {{0, 1}, {0, 2}, {1, 2}, {2, 3}, {3, 0}, {4, 0}, {4, 1}, {4, 2}, {4, 3}, {4, 5}, {5, 0}},
        true};
    const topologies::edge_list by_weight{{{0, 1, 0.1},
                                           {0, 2, 0.7},
                                           {1, 2, 0.003},
                                           {2, 3, 0.9},
                                           {3, 4, 1.0 / 3},
                                           {4, 0, 0.3},
                                           {4, 1, 0.3},
                                           {4, 2, 0.3},
                                           {5, 0, 1.0 / 7}},
                                          true};
    for (const auto& graph : {by_degree, by_weight})
        for (std::size_t holder = 0; holder < 6; ++holder) {
            CAPTURE(holder);
            rows x(6, {0.0f, 0.0f, 1.0f});  // the last is the weight
            x[holder] = {1.0f, 0.125f, 1.0f};
            const auto now = sums(after(x, graph, 1, 0, detail::collectives::mixing_by::shares).x);
            CHECK(now[0] == 1.0);
            CHECK(now[1] == 0.125);
        }
}

TEST_CASE("by shares changes are of values over the weight that comes last") {
    // A round at which all values over their weights are alike changes nothing, whatever is shared.
    const topologies::edge_list graph{{{0, 1}, {0, 2}, {1, 2}, {2, 3}, {3, 0}}, true};
    constexpr std::size_t n = 10'000;
    rows x;
    for (std::uint64_t rank = 0; rank < 4; ++rank) {
        x.push_back(testing::normal_values(n, rank + 9));
        x.back().push_back(0.5f + 0.25f * static_cast<float>(rank));
    }
    const auto now = after(x, graph, 1, 0, detail::collectives::mixing_by::shares);
    for (std::size_t rank = 0; rank < 4; ++rank) {
        double squares = 0.0;
        for (std::size_t i = 0; i < n; ++i) {
            const double change =
                double{now.x[rank][i]} / now.x[rank][n] - double{x[rank][i]} / x[rank][n];
            squares += change * change;
        }
        CHECK(now.squared_changes[rank] == doctest::Approx(squares).epsilon(1e-5));
    }
    for (auto& values : x) {
        const float weight = values.back();
        for (std::size_t i = 0; i < n; ++i) values[i] = 3.0f * weight;
    }
    for (const double change :
         after(x, graph, 3, 0, detail::collectives::mixing_by::shares).squared_changes)
        CHECK(change < 1e-10 * static_cast<double>(n));
}

TEST_CASE("so many rounds are one by the matrix to that power, on values") {
    struct power {
        int of;
        auto bind(int size) const {
            const auto one = topologies::torus{}.bind(size);
            const auto& w = one.matrix(0);
            std::vector<std::vector<double>> product(
                static_cast<std::size_t>(size),
                std::vector<double>(static_cast<std::size_t>(size)));
            for (std::size_t i = 0; i < product.size(); ++i) product[i][i] = 1.0;
            for (int k = 0; k < of; ++k) {
                const auto before = product;
                for (int i = 0; i < size; ++i)
                    for (std::size_t j = 0; j < product.size(); ++j) {
                        double sum = 0.0;
                        for (int l = 0; l < size; ++l)
                            sum += w.weight(i, l) * before[static_cast<std::size_t>(l)][j];
                        product[static_cast<std::size_t>(i)][j] = sum;
                    }
            }
            topologies::mixing_matrix all(size);
            for (int i = 0; i < size; ++i)
                for (int j = 0; j < size; ++j)
                    if (i != j)
                        all.link(i, j,
                                 product[static_cast<std::size_t>(i)][static_cast<std::size_t>(j)]);
            return topologies::repeated(std::move(all));
        }
    };
    rows x;
    for (std::uint64_t rank = 0; rank < 12; ++rank)
        x.push_back(testing::normal_values(200, rank + 1));
    for (const int rounds : {2, 3, 5}) {
        CAPTURE(rounds);
        const auto by_rounds = after(x, topologies::torus{}, rounds).x,
                   at_once = after(x, power{rounds}).x;
        for (std::size_t rank = 0; rank < x.size(); ++rank)
            CHECK(detail::kernels::squared_distance(by_rounds[rank], at_once[rank]) < 1e-10);
        CHECK(detail::kernels::squared_distance(by_rounds[0], x[0]) > 1.0);
    }
}

TEST_CASE("parts of the values tell their changes apart") {
    const auto x = integers(3, 30'000);
    run_in_process(3, [&](auto& transport) {
        auto values = x[static_cast<std::size_t>(transport.rank())];
        const auto old = values;
        const std::vector<std::int64_t> places{0, 10, 10, 20'011};
        const auto state = topologies::ring{}.bind(3);
        detail::collectives::neighbour_exchange exchange(transport, std::ssize(values), 2);
        exchange.start(
            values, state.matrix(0), {channels::gossip, 0, 0}, [](int) { return true; }, places);
        exchange.release(0);
        detail::collectives::run(transport, exchange);
        const auto changes = exchange.squared_changes();
        REQUIRE(changes.size() == 4);
        const auto part = [&](std::size_t from, std::size_t to) {
            return detail::kernels::squared_distance(std::span(values).subspan(from, to - from),
                                                     std::span(old).subspan(from, to - from));
        };
        CHECK(changes[0] == doctest::Approx(part(0, 10)).epsilon(1e-5));
        CHECK(changes[1] == 0.0);
        CHECK(changes[2] == doctest::Approx(part(10, 20'011)).epsilon(1e-5));
        CHECK(changes[3] == doctest::Approx(part(20'011, 30'000)).epsilon(1e-5));
        CHECK(exchange.squared_change() ==
              doctest::Approx(changes[0] + changes[2] + changes[3]).epsilon(1e-12));
    });
}

TEST_CASE("a neighbour that takes no part leaves its weight to the others themselves") {
    const auto x = integers(4, 100);
    rows y = x;
    run_in_process(4, [&](auto& transport) {
        if (transport.rank() == 3) return (void)transport.agree(true);
        const auto state = quarters{}.bind(4);
        auto& values = y[static_cast<std::size_t>(transport.rank())];
        detail::collectives::neighbour_exchange exchange(transport, 100, 2);
        exchange.start(values, state.matrix(0), {channels::gossip, 0, 0},
                       [](int rank) { return rank != 3; });
        exchange.release(0);
        detail::collectives::run(transport, exchange);
        transport.agree(true);
    });
    CHECK(y[3] == x[3]);
    CHECK(y[0] != x[0]);
    CHECK(sums({y[0], y[1], y[2]}) == sums({x[0], x[1], x[2]}));
}

TEST_CASE("what is not finite is refused by the rank that gets it, with who sent it") {
    std::mutex lock;
    std::vector<std::string> said;
    CHECK_THROWS(run_in_process(3, [&](auto& transport) {
        std::vector<float> values(10'000, 1.0f);
        if (transport.rank() == 1) values[7777] = std::numeric_limits<float>::infinity();
        const auto state = topologies::ring{}.bind(3);
        detail::collectives::neighbour_exchange exchange(transport, 10'000, 2);
        try {
            exchange.start(values, state.matrix(0), {channels::gossip, 0, 0});
            exchange.release(0);
            detail::collectives::run(transport, exchange);
        } catch (const error& e) {
            // Rank 1 finds that, too, and must not be missed before the others say it.
            if (transport.rank() == 1) transport.agree(true);
            {
                const std::lock_guard hold(lock);
                if (e.code() == errc::non_finite) said.push_back(e.what());
            }
            transport.fail(e.what());
            throw;
        }
    }));
    REQUIRE_FALSE(said.empty());
    CHECK(said.front() == "what rank 1 sent to be mixed is not finite: element 7777");
}

TEST_CASE("rounds may have more neighbours than were expected, and other ones on each rank") {
    constexpr int ranks = 6;
    constexpr std::int64_t size = 9000;  // three segments
    run_in_process(ranks, [](auto& transport) {
        detail::collectives::neighbour_exchange exchange(transport, size, 1);
        const auto me = static_cast<float>(transport.rank());
        std::vector<float> values(size, me);
        // A pair, then a star, so that one rank grows alone, then all with all.
        topologies::mixing_matrix pair(ranks), star(ranks), all(ranks);
        pair.link_both(0, 1, 0.5);
        for (int rank = 1; rank < ranks; ++rank) star.link_both(0, rank, 0.125);
        for (int a = 0; a < ranks; ++a)
            for (int b = 0; b < a; ++b) all.link_both(a, b, 0.125);
        std::uint64_t round = 0;
        std::vector<double> expected{0, 1, 2, 3, 4, 5};
        for (const auto* matrix : {&pair, &star, &all, &star}) {
            exchange.start(values, *matrix, {channels::gossip, 0, round++});
            exchange.release(0);
            detail::collectives::run(transport, exchange);
            const auto before = expected;
            for (std::size_t i = 0; i < ranks; ++i)
                for (const auto& n : matrix->into(static_cast<int>(i)))
                    expected[i] +=
                        n.weight * (before[static_cast<std::size_t>(n.rank)] - before[i]);
        }
        for (const float value : values)
            CHECK(value == doctest::Approx(expected[static_cast<std::size_t>(transport.rank())]));
    });
}

TEST_CASE("more values than bound, and another number of them, are refused") {
    run_in_process(1, [](auto& transport) {
        CHECK_THROWS_AS((detail::collectives::neighbour_exchange(transport, -1, 2)),
                        invalid_option);
        detail::collectives::neighbour_exchange exchange(transport, 3, 1);
        std::vector<float> four(4);
        const auto state = topologies::ring{}.bind(1);
        CHECK_THROWS_AS(exchange.start(four, state.matrix(0), {}), invalid_option);
    });
    CHECK_THROWS_WITH_AS(
        run_in_process(2,
                       [](auto& transport) {
                           std::vector<float> values(transport.rank() == 0 ? 10 : 12);
                           const auto state = topologies::ring{}.bind(2);
                           detail::collectives::neighbour_exchange exchange(transport, 12, 1);
                           try {
                               exchange.start(values, state.matrix(0), {});
                               exchange.release(0);
                               detail::collectives::run(transport, exchange);
                           } catch (const mismatch& e) {
                               transport.fail(e.what());
                               throw;
                           }
                       }),
        doctest::Contains("bytes"), error);
}

TEST_CASE("a neighbour that went leaves its weight to each of the others, who keep their sum") {
    const auto x = integers(5, 30'000);
    for (const bool is_told : {false, true}) {
        CAPTURE(is_told);
        rows y = x;
        simulated_options options;
        options.faults = {network_fault::crash(2, std::chrono::milliseconds(1))};
        const auto run = simulate(5, options, [&](simulated& transport) {
            transport.tolerate();
            auto& values = y[static_cast<std::size_t>(transport.rank())];
            const auto state = quarters{}.bind(5);
            detail::collectives::neighbour_exchange exchange(transport, std::ssize(values), 2);
            exchange.tolerate();
            exchange.start(values, state.matrix(0), {channels::gossip, 0, 0});
            if (transport.rank() == 2) transport.charge({.flops = 1e12});  // it releases nothing
            exchange.release(0);
            while (true) {
                const auto seen = transport.activity();
                while (const auto change = transport.next_change())
                    if (is_told && !change->is_here) exchange.lose(change->rank);
                if (exchange.advance()) break;
                transport.await(seen);
            }
            CHECK(exchange.mixes_with(2) == false);
            CHECK(exchange.mixes_with((transport.rank() + 1) % 5) == (transport.rank() != 1));
        });
        run.require_success();
        CHECK(y[1] != x[1]);
        CHECK(sums({y[0], y[1], y[3], y[4]}) == sums({x[0], x[1], x[3], x[4]}));
    }
}
