#include "sotto/collectives/all_gather.hpp"
#include "sotto/compressors/power_sgd.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <vector>

#include "sotto/compressors/none.hpp"
#include "sotto/core/describe.hpp"
#include "sotto/core/errors.hpp"
#include "sotto/optimizers/momentum_sgd.hpp"
#include "sotto/strategies/all_reduce.hpp"
#include "support/generators.hpp"
#include "support/numbers.hpp"
#include "support/snapshot.hpp"
#include "support/training.hpp"

using namespace sotto;

namespace {

using floats = std::vector<float>;
using state = power_sgd::state;

layout matrix(std::int64_t rows, std::int64_t columns) {
    layout tensors;
    tensors.add("w", {rows, columns});
    return tensors;
}

/// A matrix of this rank.
floats of_rank(std::int64_t rank, std::int64_t rows, std::int64_t columns, std::uint64_t seed) {
    const floats left = testing::normal_values(rows * rank, seed),
                 right = testing::normal_values(columns * rank, seed + 1);
    floats product(static_cast<std::size_t>(rows * columns));
    detail::kernels::product_of_factors(
        {static_cast<std::size_t>(rows), static_cast<std::size_t>(columns),
         static_cast<std::size_t>(rank)},
        left, right, product);
    return product;
}

/// A round of all ranks by hand, sums in the order of the ranks; one without data gives nothing.
floats round_of(std::span<state> ranks, const tensor& t, std::span<const floats> gradients,
                bool commit = true) {
    const auto size = [&](int number) {
        return static_cast<std::size_t>(detail::compressing::payload_size(ranks[0], t, number));
    };
    const auto add = [](floats& sum, const floats& payload) {
        for (std::size_t i = 0; i < sum.size(); ++i) sum[i] += payload[i];
    };
    floats sum(size(0));
    for (std::size_t r = 0; r < ranks.size(); ++r) {
        if (gradients[r].empty()) continue;
        floats payload(size(0));
        ranks[r].pack(t, gradients[r], payload);
        add(sum, payload);
    }
    for (int number = 1; number < ranks[0].payload_count(t); ++number) {
        floats next(size(number));
        for (std::size_t r = 0; r < ranks.size(); ++r) {
            floats payload(size(number));
            ranks[r].pack_next(t, number, sum, payload);
            if (!gradients[r].empty()) add(next, payload);
        }
        sum = next;
    }
    floats applied(static_cast<std::size_t>(t.size)), other = applied;
    for (std::size_t r = 0; r < ranks.size(); ++r) {
        ranks[r].unpack(t, sum, r == 0 ? applied : other);
        if (r > 0) CHECK(applied == other);
        if (commit) ranks[r].commit();
    }
    return applied;
}

std::vector<state> ranks_of(int world, const power_sgd& options, const layout& tensors) {
    std::vector<state> ranks;
    for (int rank = 0; rank < world; ++rank) {
        ranks.push_back(options.bind(tensors));
        ranks.back().begin_round({.step = 0, .rank = rank, .world_size = world});
    }
    return ranks;
}

double norm(std::span<const float> x) {
    double sum = 0.0;
    for (const float v : x) sum += double{v} * v;
    return std::sqrt(sum);
}

double distance(std::span<const float> a, std::span<const float> b) {
    double sum = 0.0;
    for (std::size_t i = 0; i < a.size(); ++i) sum += (double{a[i]} - b[i]) * (double{a[i]} - b[i]);
    return std::sqrt(sum);
}

void check_orthonormal(std::span<const float> columns, std::size_t length) {
    for (std::size_t i = 0; i < columns.size(); i += length)
        for (std::size_t j = 0; j <= i; j += length) {
            double product = 0.0;
            for (std::size_t k = 0; k < length; ++k)
                product += double{columns[i + k]} * columns[j + k];
            CHECK(std::abs(product - (i == j ? 1.0 : 0.0)) < 1e-6);
        }
}

}  // namespace

TEST_CASE("a gradient whose rank is not above the compressor's arrives whole, up to rounding") {
    for (const std::int64_t rank : {1, 2, 4})
        for (std::int64_t own = 1; own <= rank; ++own) {
            const layout tensors = matrix(30, 80);
            auto ranks = ranks_of(1, {.rank = rank}, tensors);
            const floats g = of_rank(own, 30, 80, static_cast<std::uint64_t>(own));
            for (int round = 0; round < 4; ++round) {
                const floats applied = round_of(ranks, tensors[0], std::span(&g, 1));
                CHECK(distance(applied, g) < 4e-6 * norm(g));
                CHECK(norm(ranks[0].unsent(tensors[0])) < 4e-6 * norm(g));
            }
        }
}

TEST_CASE("the sum over ranks arrives whole if its rank is small, whatever theirs are") {
    const layout tensors = matrix(40, 60);
    auto ranks = ranks_of(2, {.rank = 2}, tensors);
    const floats sum = of_rank(2, 40, 60, 3), noise = testing::normal_values(2400, 5);
    std::vector<floats> gradients(2, floats(2400));
    for (std::size_t i = 0; i < sum.size(); ++i) {
        gradients[0][i] = 0.5f * sum[i] + noise[i];
        gradients[1][i] = 0.5f * sum[i] - noise[i];
    }
    CHECK(distance(round_of(ranks, tensors[0], gradients), sum) < 1e-5 * norm(sum));
}

TEST_CASE("what is applied is the projection of the sum to the left factor, and contracts") {
    const layout tensors = matrix(20, 50);
    auto ranks = ranks_of(1, {.rank = 3}, tensors);
    for (std::uint64_t seed = 0; seed < 10; ++seed) {
        const floats g = testing::normal_values(1000, seed);
        floats given = g;
        const auto before = ranks[0].unsent(tensors[0]);
        for (std::size_t i = 0; i < given.size(); ++i) given[i] += before[i];
        const floats applied = round_of(ranks, tensors[0], std::span(&g, 1));
        const double whole = norm(given), part = norm(applied), rest = distance(given, applied);
        CHECK(part > 0.0);
        CHECK(rest < whole);
        CHECK(rest * rest + part * part == doctest::Approx(whole * whole).epsilon(1e-5));
    }
}

TEST_CASE("what was applied and all ranks' memories add up to what was given, failed rounds not") {
    const layout tensors = matrix(24, 40);
    for (const int world : {1, 2, 4}) {
        auto ranks = ranks_of(world, {.rank = 2}, tensors);
        std::vector<double> given(960), arrived(960);
        random_stream chance(7);
        for (std::uint64_t step = 0; step < 60; ++step) {
            std::vector<floats> gradients(static_cast<std::size_t>(world));
            std::vector<std::size_t> with_data;
            for (std::size_t r = 0; r < gradients.size(); ++r)
                if (r == step % gradients.size() || chance.below(4) != 0) with_data.push_back(r);
            for (std::size_t r = 0; r < gradients.size(); ++r)
                ranks[r].begin_round({.step = static_cast<std::int64_t>(step),
                                      .rank = static_cast<int>(r),
                                      .world_size = world,
                                      .share = 1.0 / static_cast<double>(with_data.size())});
            for (const std::size_t r : with_data)
                gradients[r] = testing::integer_values(960, 10 * step + r);
            const bool fails = chance.below(4) == 0;
            const testing::snapshot before(ranks[0]);
            const floats applied = round_of(ranks, tensors[0], gradients, !fails);
            if (fails) {
                for (state& rank : ranks) rank.rollback();
                CHECK(testing::snapshot(ranks[0]) == before);
                continue;
            }
            for (std::size_t i = 0; i < given.size(); ++i) {
                for (const std::size_t r : with_data) given[i] += gradients[r][i];
                arrived[i] += applied[i];
            }
        }
        double total = 0.0, off = 0.0;
        for (std::size_t i = 0; i < given.size(); ++i) {
            double waiting = 0.0;
            for (const state& rank : ranks) waiting += rank.unsent(tensors[0])[i];
            off = std::max(off, std::abs(arrived[i] + waiting - given[i]));
            total = std::max(total, std::abs(given[i]));
        }
        CHECK(total > 20.0);
        CHECK(off < 1e-3);
    }
}

TEST_CASE("a rank without data keeps its memory and applies what all apply") {
    const layout tensors = matrix(12, 30);
    auto ranks = ranks_of(2, {.rank = 1}, tensors);
    const std::vector<floats> both{testing::normal_values(360, 1), testing::normal_values(360, 2)};
    round_of(ranks, tensors[0], both);
    const floats before(ranks[1].unsent(tensors[0]).begin(), ranks[1].unsent(tensors[0]).end());
    CHECK(norm(before) > 0.0);
    ranks[0].begin_round({.step = 1, .rank = 0, .world_size = 2, .share = 1.0});
    ranks[1].begin_round({.step = 1, .rank = 1, .world_size = 2});
    round_of(ranks, tensors[0], std::vector<floats>{both[0], {}});
    CHECK(std::ranges::equal(ranks[1].unsent(tensors[0]), before));
    CHECK(std::ranges::equal(ranks[0].start_of(tensors[0]), ranks[1].start_of(tensors[0])));
}

TEST_CASE("what waits at a rank without data is applied when it gives zeros, and so is all of it") {
    const layout tensors = matrix(12, 30);
    auto ranks = ranks_of(2, {.rank = 2}, tensors);
    const floats waiting = of_rank(2, 12, 30, 5), nothing(360);
    ranks[1].visit([&](std::string_view name, std::span<float> values, kept) {
        if (name == "residual/w") std::ranges::copy(waiting, values.begin());
    });
    ranks[0].begin_round({.step = 1, .rank = 0, .world_size = 2, .share = 1.0});
    ranks[1].begin_round({.step = 1, .rank = 1, .world_size = 2, .share = 0.0});
    const floats applied = round_of(ranks, tensors[0], std::vector<floats>{nothing, nothing});
    CHECK(distance(applied, waiting) < 1e-5 * norm(waiting));
    // Each keeps what it had, less its share of what was applied.
    CHECK(std::ranges::equal(ranks[1].unsent(tensors[0]), waiting));
    for (std::size_t i = 0; i < applied.size(); ++i)
        CHECK(ranks[0].unsent(tensors[0])[i] == -applied[i]);
}

TEST_CASE("rounds go on from the last one, and so find the largest part of a constant gradient") {
    // One part of length 1 and a flat rest. The step of a cold start misses much of it.
    constexpr std::int64_t rows = 30, columns = 60;
    const layout tensors = matrix(rows, columns);
    floats g = of_rank(1, rows, columns, 3);
    const double length = norm(g);
    const floats rest = testing::normal_values(rows * columns, 9);
    for (std::size_t i = 0; i < g.size(); ++i)
        g[i] = static_cast<float>(g[i] / length * 20.0) + 0.5f * rest[i];
    auto ranks = ranks_of(1, {.rank = 1}, tensors);
    // Rounds that leave nothing waiting: a rank on its own can put its memory back to zero.
    double first = 0.0, last = 0.0;
    for (int round = 0; round < 12; ++round) {
        const floats applied = round_of(ranks, tensors[0], std::span(&g, 1));
        (round == 0 ? first : last) = norm(applied);
        ranks[0].visit([](std::string_view name, std::span<float> values, kept) {
            if (name == "residual/w") std::fill(values.begin(), values.end(), 0.0f);
        });
    }
    CHECK(first < 0.9 * last);
    CHECK(last > 20.0);
}

TEST_CASE("the memory of a constant gradient stays bounded") {
    const layout tensors = matrix(20, 30);
    auto ranks = ranks_of(1, {.rank = 1}, tensors);
    const floats g = testing::normal_values(600, 4);
    std::vector<double> arrived(600);
    constexpr int rounds = 1000;
    for (int round = 0; round < rounds; ++round) {
        const floats applied = round_of(ranks, tensors[0], std::span(&g, 1));
        for (std::size_t i = 0; i < applied.size(); ++i) arrived[i] += applied[i];
        CHECK(norm(ranks[0].unsent(tensors[0])) < 30.0 * norm(g));
    }
    double off = 0.0;
    for (std::size_t i = 0; i < g.size(); ++i)
        off += (arrived[i] / rounds - g[i]) * (arrived[i] / rounds - g[i]);
    CHECK(std::sqrt(off) < 0.03 * norm(g));
}

TEST_CASE("where rounds begin is orthonormal, the same on all ranks and the seed's alone") {
    const layout tensors = testing::small_layout();
    auto ranks = ranks_of(3, {.rank = 3, .min_compression_rate = 1.0}, tensors);
    const auto other = power_sgd{.rank = 3, .min_compression_rate = 1.0, .seed = 1}.bind(tensors);
    for (const tensor& t : tensors) {
        if (!ranks[0].compresses(t)) continue;
        const auto columns = static_cast<std::size_t>(t.shape[1]);
        CHECK(ranks[0].start_of(t).size() == 3 * columns);
        CHECK_FALSE(std::ranges::equal(ranks[0].start_of(t), other.start_of(t)));
        for (std::uint64_t round = 0; round < 5; ++round) {
            check_orthonormal(ranks[0].start_of(t), columns);
            for (const state& rank : ranks)
                CHECK(std::ranges::equal(rank.start_of(t), ranks[0].start_of(t)));
            std::vector<floats> gradients;
            for (std::uint64_t r = 0; r < 3; ++r)
                gradients.push_back(testing::normal_values(t.size, 10 * round + r));
            round_of(ranks, t, gradients);
        }
    }
}

TEST_CASE("gradients of nothing, and then of something, lose no direction") {
    const layout tensors = matrix(16, 24);
    auto ranks = ranks_of(2, {.rank = 2}, tensors);
    const std::vector<floats> nothing(2, floats(384));
    for (int round = 0; round < 3; ++round) {
        CHECK(round_of(ranks, tensors[0], nothing) == floats(384));
        check_orthonormal(ranks[0].start_of(tensors[0]), 24);
        CHECK(std::ranges::equal(ranks[0].start_of(tensors[0]), ranks[1].start_of(tensors[0])));
    }
    const std::vector<floats> something{of_rank(1, 16, 24, 1), of_rank(1, 16, 24, 5)};
    floats sum = something[0];
    for (std::size_t i = 0; i < sum.size(); ++i) sum[i] += something[1][i];
    CHECK(distance(round_of(ranks, tensors[0], something), sum) < 1e-5 * norm(sum));
    CHECK(distance(round_of(ranks, tensors[0], something), sum) < 1e-5 * norm(sum));
}

TEST_CASE("all_reduce does the rounds that are done by hand, bit for bit with two ranks") {
    const layout tensors = testing::small_layout();
    const power_sgd options{.rank = 2};
    const testing::exercise work{.model = testing::number_model(tensors), .length = steps{6}};
    const auto found = testing::train(2, all_reduce{sgd{.learning_rate = 0.0625}, options}, work);
    CHECK(agree(found));
    // The same messages, of which every payload is summed by another algorithm: of two, the sum
    // has one order.
    for (const auto& other :
         {testing::train(2, all_reduce{sgd{.learning_rate = 0.0625}, options, collectives::ring{}},
                         work),
          testing::train(
              2, all_reduce{sgd{.learning_rate = 0.0625}, options, collectives::all_gather{}},
              work)})
        for (std::size_t rank = 0; rank < 2; ++rank) CHECK(other[rank].same_state(found[rank]));

    auto ranks = ranks_of(2, options, tensors);
    std::vector<floats> parameters(1, floats(static_cast<std::size_t>(tensors.size())));
    std::vector<std::vector<floats>> gradients;
    run_in_process(2, [&](in_process& transport) {
        testing::number_model model(tensors);
        model.spoil = [&](std::span<float> g) {
            const auto own = testing::integer_values(tensors.size(),
                                                     static_cast<std::uint64_t>(transport.rank()));
            for (std::size_t i = 0; i < g.size(); ++i) g[i] = 2.0f * own[i];
        };
        auto strategy = all_reduce{sgd{.learning_rate = 1.0}, options}.bind(tensors, transport);
        floats moved(static_cast<std::size_t>(tensors.size()));
        strategy.begin_epoch({.examples = 1});
        detail::round_input<testing::number_model> job{model, {0}, 1, 0, 0.0};
        const auto report = strategy.round(job, moved);
        if (transport.rank() != 0) return;
        parameters[0] = moved;
        CHECK(report.tensor_message_bytes[0] == 4 * 2 * (12 + 25));
        CHECK(report.tensor_message_bytes[1] == 4 * 12);
        CHECK(report.tensor_message_bytes[3] == 4 * 2 * (70 + 10));
    });
    const floats all[2] = {testing::integer_values(tensors.size(), 0),
                           testing::integer_values(tensors.size(), 1)};
    for (const tensor& t : tensors) {
        std::vector<floats> parts;
        for (const floats& g : all) {
            const auto part = t.of(std::span<const float>(g));
            parts.emplace_back(part.begin(), part.end());
        }
        const floats applied = round_of(ranks, t, parts, false);
        const auto moved = t.of(std::span<const float>(parameters[0]));
        for (std::size_t i = 0; i < applied.size(); ++i) CHECK(moved[i] == -applied[i]);
    }
}

TEST_CASE("vectors, empty tensors and matrices that two factors do not shorten go as they are") {
    layout tensors;
    tensors.add("matrix", {64, 32})
        .add("filters", {16, 3, 5, 5})
        .add("vector", {4096})
        .add("scalar", {})
        .add("row", {1, 500})
        .add("small", {6, 6})
        .add("empty", {0, 9});
    const auto two = power_sgd{.rank = 2}.bind(tensors);
    CHECK(two.compresses(tensors[0]));
    CHECK(two.payload_count(tensors[0]) == 2);
    CHECK(two.payload_size(tensors[0]) == 2 * 64);
    CHECK(two.payload_size(tensors[0], 1) == 2 * 32);
    CHECK(two.payload_size(tensors[1]) == 2 * 16);  // a filter is a row
    CHECK(two.payload_size(tensors[1], 1) == 2 * 75);
    for (std::int64_t i = 2; i < 7; ++i) {
        CHECK_FALSE(two.compresses(tensors[i]));
        CHECK(two.payload_count(tensors[i]) == 1);
        CHECK(two.payload_size(tensors[i]) == tensors[i].size);
    }
    // 2048 values become 96 r: by twice and more up to a rank of 10, by any number up to 21.
    CHECK(power_sgd{.rank = 10}.bind(tensors).compresses(tensors[0]));
    CHECK_FALSE(power_sgd{.rank = 11}.bind(tensors).compresses(tensors[0]));
    CHECK(power_sgd{21, 1.0}.bind(tensors).compresses(tensors[0]));
    CHECK_FALSE(power_sgd{22, 1.0}.bind(tensors).compresses(tensors[0]));
    CHECK_FALSE(power_sgd{2000, 1.0}.bind(tensors).compresses(tensors[0]));
}

TEST_CASE("at a rank that saves nothing it is the plain sum") {
    testing::exercise work{.length = epochs{1}};
    work.model.pull = 0.3f;
    CHECK(testing::train(3, all_reduce{sgd{}, power_sgd{.rank = 100}}, work)[1].same_parameters(
        testing::train(3, all_reduce{sgd{}}, work)[1]));
}

TEST_CASE("one rank's message holds what the memory does not") {
    const layout tensors = testing::small_layout();
    auto sender = power_sgd{}.bind(tensors);
    for (std::uint64_t step = 0; step < 5; ++step) {
        for (const tensor& t : tensors) {
            const floats g = testing::normal_values(t.size, step);
            floats given = g;
            if (sender.compresses(t))
                for (std::size_t i = 0; i < g.size(); ++i) given[i] += sender.unsent(t)[i];
            bytes message;
            sender.encode(t, g, message);
            floats sum(g.size());
            sender.decode_add(t, message, sum);
            if (!sender.compresses(t)) {
                CHECK(sum == g);
                continue;
            }
            sender.commit();
            for (std::size_t i = 0; i < g.size(); ++i) sum[i] += sender.unsent(t)[i];
            CHECK(distance(sum, given) < 1e-6 * norm(given));
        }
    }
}

TEST_CASE("PowerSGD: rounds before start_after -> whole gradients") {
    constexpr std::int64_t whole = 3;
    const layout tensors = testing::small_layout();
    for (const int world : {1, 2, 3}) {
        CAPTURE(world);
        const auto trained = [&](const auto& compressor, std::int64_t count) {
            testing::exercise work{.model = testing::number_model(tensors), .length = steps{count}};
            work.model.pull = 0.3f;
            return testing::train(world, all_reduce{sgd{.learning_rate = 0.0625}, compressor},
                                  work);
        };
        const power_sgd waits{.rank = 2, .start_after = whole};
        const auto dense = trained(none{}, whole), dense_later = trained(none{}, whole + 1);
        for (std::size_t rank = 0; rank < dense.size(); ++rank) {
            CHECK(trained(waits, whole)[rank].same_parameters(dense[rank]));
            CHECK_FALSE(trained(waits, whole + 1)[rank].same_parameters(dense_later[rank]));
        }
        CHECK(agree(trained(waits, 8)));
        CHECK_FALSE(trained(power_sgd{.rank = 2}, whole)[0].same_parameters(dense[0]));
    }
}

TEST_CASE("PowerSGD: start_after -> bytes of gradients, then of factors") {
    const layout tensors = testing::small_layout();
    const power_sgd options{.rank = 2, .start_after = 2};
    run_in_process(2, [&](in_process& transport) {
        testing::number_model model(tensors);
        auto strategy = all_reduce{sgd{.learning_rate = 1.0}, options}.bind(tensors, transport);
        floats moved(static_cast<std::size_t>(tensors.size()));
        for (std::int64_t step = 0; step < 4; ++step) {
            strategy.begin_epoch({.examples = 1});
            detail::round_input<testing::number_model> job{model, {0}, 1, step, 0.0};
            const auto report = strategy.round(job, moved);
            CHECK(report.tensor_message_bytes[0] == (step < 2 ? 4 * 300 : 4 * 2 * (12 + 25)));
            CHECK(report.tensor_message_bytes[1] == 4 * 12);
            CHECK((norm(strategy.compressor().unsent(tensors[0])) == 0.0) == (step < 2));
        }
    });
}

TEST_CASE("PowerSGD: start_after to a server -> either message is read") {
    const layout tensors = testing::small_layout();
    const power_sgd options{.rank = 2, .start_after = 1};
    auto sender = options.bind(tensors);
    auto receiver = options.bind_decoder(tensors);
    const floats g = testing::normal_values(300, 1);
    bytes whole, factors;
    sender.begin_round({.step = 0});
    sender.encode(tensors[0], g, whole);
    sender.commit();
    sender.begin_round({.step = 1});
    sender.encode(tensors[0], g, factors);
    CHECK(whole.size() == 1 + 4 * 300);  // a format, and floats
    CHECK(factors.size() == 1 + 4 * 2 * (12 + 25));
    CHECK(receiver.message_bytes_max(tensors[0]) == 1 + 4 * 300);
    floats sum(300);
    receiver.decode_add(tensors[0], whole, sum);
    CHECK(sum == g);
    sum.assign(300, 0.0f);
    receiver.decode_add(tensors[0], factors, sum);
    CHECK(norm(sum) > 0.0);
    for (const bytes& message : {whole, factors})
        CHECK_THROWS_AS(
            receiver.decode_add(tensors[0], byte_view(message).first(message.size() - 4), sum),
            error);
    auto at_once = power_sgd{.rank = 2}.bind_decoder(tensors);
    CHECK_THROWS_AS(at_once.decode_add(tensors[0], whole, sum), error);
}

TEST_CASE("PowerSGD: start_after -> described if chosen, refused below 0") {
    const auto text = [](const power_sgd& options) {
        return detail::description{}.add("compressor", options).text();
    };
    CHECK(text({}).find("start_after") == std::string::npos);
    CHECK(text({.start_after = 1000}).ends_with("compressor.start_after = 1000\n"));
    CHECK_THROWS_WITH_AS(power_sgd{.start_after = -1}.bind(testing::small_layout()),
                         "power_sgd: start_after is -1; it must be at least 0, a number of rounds",
                         invalid_option);
}

TEST_CASE("options that cannot be are refused") {
    const layout tensors = testing::small_layout();
    CHECK_THROWS_WITH_AS(power_sgd{.rank = 0}.bind(tensors),
                         "power_sgd: rank is 0; it must be at least 1", invalid_option);
    for (const double rate : {0.5, -1.0, std::numeric_limits<double>::infinity(),
                              std::numeric_limits<double>::quiet_NaN()})
        CHECK_THROWS_AS(power_sgd{.min_compression_rate = rate}.bind(tensors), invalid_option);
}
