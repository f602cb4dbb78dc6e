#include "sotto/strategies/detail/all_reduce/hierarchical_exchange.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <span>
#include <vector>

#include "sotto/collectives/hierarchical.hpp"
#include "sotto/compressors/dgc.hpp"
#include "sotto/compressors/none.hpp"
#include "sotto/compressors/power_sgd.hpp"
#include "sotto/compressors/residual.hpp"
#include "sotto/compressors/top_k.hpp"
#include "sotto/optimizers/momentum_sgd.hpp"
#include "sotto/strategies/all_reduce.hpp"
#include "sotto/transports/metered.hpp"
#include "sotto/transports/run_in_process.hpp"
#include "support/numbers.hpp"
#include "support/training.hpp"

using namespace sotto;
using collectives::hierarchical;
using testing::exercise, testing::train, testing::trained, testing::number_model;

namespace {

const sgd plain{.learning_rate = 0.0625};

layout matrices() {
    layout tensors;
    tensors.add("first", {20, 10}).add("second", {10, 5});
    return tensors;
}

/// Some rounds of gradients that are small integers, with shares that are powers of two where the
/// examples are: what ranks end with.
struct ending {
    std::vector<float> parameters;
    std::vector<float> remembered;
};

template <class Strategy>
std::vector<ending> rounds(const Strategy& strategy, const std::vector<std::int64_t>& examples,
                           int count) {
    std::vector<ending> all(examples.size());
    run_in_process(static_cast<int>(examples.size()), [&](in_process& t) {
        const auto rank = static_cast<std::size_t>(t.rank());
        number_model model(matrices());
        auto state = strategy.bind(model.layout(), t);
        all[rank].parameters.resize(static_cast<std::size_t>(model.layout().size()));
        for (std::int64_t step = 0; step < count; ++step) {
            state.begin_epoch({.examples = examples[rank], .batch_size = 100});
            const std::vector<std::int64_t> batch{10 * step + t.rank()};
            detail::round_input<number_model> job{model, batch, examples[rank], step, 10.0};
            state.round(job, all[rank].parameters);
        }
        for (const tensor& one : model.layout()) {
            const auto unsent = state.compressor().memory().unsent(one);
            all[rank].remembered.insert(all[rank].remembered.end(), unsent.begin(), unsent.end());
        }
    });
    return all;
}

bool is_zero(const std::vector<float>& values) {
    return std::ranges::all_of(values, [](float v) { return v == 0.0f; });
}

}  // namespace

TEST_CASE("at density 1 a hierarchy gives the bits of a flat sum, however ranks share hosts") {
    for (const int world : {1, 2, 4})
        for (const std::int64_t ranks_per_host : {1, 2, 3, 4, 100}) {
            const hierarchical hosts{.ranks_per_host = ranks_per_host};
            const exercise exact{.length = steps{4}};
            const auto ranks = train(
                world, all_reduce{plain, sparsified{top_k{.density = 1.0}, residual{}}, hosts},
                exact);
            CHECK(agree(ranks));
            CHECK(ranks[0].same_parameters(train(world, all_reduce{plain}, exact)[0]));
            // Momentum of one half in the memory of the first ranks, and of vectors everywhere.
            const dgc momentum{
                .density = 1.0, .momentum = 0.5, .mask = false, .warm_up_epochs = 0.0};
            const auto with_momentum = train(world, all_reduce{plain, momentum, hosts}, exact);
            CHECK(agree(with_momentum));
            CHECK(with_momentum[0].same_parameters(
                train(world, all_reduce{momentum_sgd{.learning_rate = 0.0625, .momentum = 0.5}},
                      exact)[0]));
        }
}

TEST_CASE("with a rank a host a hierarchy is flat, bit for bit, memory too") {
    const auto compressor = sparsified{top_k{.density = 0.1}, residual{}};
    exercise work{.length = epochs{2}};
    work.model.pull = 0.3f;
    for (const int world : {1, 3, 5}) {
        const auto flat = train(world, all_reduce{plain, compressor}, work);
        const auto hosts = train(world, all_reduce{plain, compressor, hierarchical{}}, work);
        for (std::size_t rank = 0; rank < flat.size(); ++rank)
            CHECK(hosts[rank].same_state(flat[rank]));
    }
}

TEST_CASE("one host compresses what its ranks give together: as one rank with all their data") {
    const auto compressor = sparsified{top_k{.density = 0.1}, residual{}};
    const exercise four{.batch_size = 4, .length = steps{4}};
    exercise one = four;
    one.batch_size = 16;
    const auto host = train(4, all_reduce{plain, compressor, hierarchical{4}}, four);
    const auto alone = train(1, all_reduce{plain, compressor}, one);
    CHECK(host[0].same_state(alone[0]));
    CHECK(agree(host));
}

TEST_CASE("local clipping counts hosts, and takes the norm of what a host sends") {
    const dgc clipped{.density = 0.25, .momentum = 0.0, .warm_up_epochs = 0.0, .clip_norm = 2.0};
    dgc unclipped = clipped;
    unclipped.clip_norm = 0.0;
    const exercise four{.model = number_model(matrices()), .batch_size = 4, .length = steps{4}};
    exercise one = four;
    one.batch_size = 16;
    const auto host = train(4, all_reduce{plain, clipped, hierarchical{4}}, four);
    CHECK(host[0].same_state(train(1, all_reduce{plain, clipped}, one)[0]));
    CHECK_FALSE(
        host[0].same_parameters(train(4, all_reduce{plain, unclipped, hierarchical{4}}, four)[0]));
    CHECK(agree(train(4, all_reduce{plain, clipped, hierarchical{2}}, four)));
}

TEST_CASE("vectors are summed over ranks, and so clipped by the part that a rank is of all") {
    layout vectors;
    vectors.add("bias", {40}, tensor_kind::bias).add("scale", {30}, tensor_kind::normalisation);
    exercise work{.model = number_model(vectors), .length = epochs{2}};
    work.model.pull = 0.3f;
    const dgc clipped{.momentum = 0.5, .warm_up_epochs = 0.0, .clip_norm = 2.0};
    const auto check = [&] {
        const int world = work.own.empty() ? 5 : static_cast<int>(work.own.size());
        const auto flat = train(world, all_reduce{plain, clipped}, work);
        for (const std::int64_t ranks_per_host : {1, 2, 4, 100}) {
            const auto hosts =
                train(world, all_reduce{plain, clipped, hierarchical{ranks_per_host}}, work);
            for (std::size_t rank = 0; rank < flat.size(); ++rank)
                CHECK(hosts[rank].same_state(flat[rank]));
        }
    };
    check();
    work.own = {7, 0, 3, 16};
    check();
}

TEST_CASE("what is summed as low-rank factors is so over ranks, and remembered as without hosts") {
    const momentum_sgd optimizer{.learning_rate = 0.0625, .momentum = 0.5};
    exercise work{.length = epochs{3}};
    work.model.pull = 0.3f;
    const auto check = [&](int world) {
        const auto flat = train(world, all_reduce{optimizer, power_sgd{}}, work);
        for (const std::int64_t ranks_per_host : {1, 2, 4}) {
            const auto hosts = train(
                world, all_reduce{optimizer, power_sgd{}, hierarchical{ranks_per_host}}, work);
            for (std::size_t rank = 0; rank < flat.size(); ++rank)
                CHECK(hosts[rank].same_state(flat[rank]));
        }
    };
    for (const int world : {2, 4, 5}) check(world);
    work.own = {7, 0, 3, 16};
    check(4);
}

TEST_CASE("only the first rank of a host remembers, and nothing is lost") {
    const auto compressor = sparsified{top_k{.density = 0.1}, residual{}};
    // Shares of the examples are powers of two; some ranks and one host have none.
    for (const auto& examples : {std::vector<std::int64_t>{1, 1, 1, 1},
                                 {2, 1, 1},
                                 {4, 0, 2, 1, 1},
                                 {1, 1, 0, 0, 2},
                                 {0, 0, 1, 0, 0, 1, 1, 1}})
        for (const std::int64_t ranks_per_host : {1, 2, 3}) {
            const int count = 5;
            const auto all = rounds(
                all_reduce{sgd{.learning_rate = 1.0}, compressor, hierarchical{ranks_per_host}},
                examples, count);
            const auto total = static_cast<double>(
                std::accumulate(examples.begin(), examples.end(), std::int64_t{0}));
            for (std::size_t i = 0; i < all[0].parameters.size(); ++i) {
                double given = 0.0, found = -double{all[0].parameters[i]};
                for (std::size_t rank = 0; rank < examples.size(); ++rank) {
                    for (int step = 0; step < count; ++step)
                        given += static_cast<double>(number_model::value(
                                     10 * step + static_cast<std::int64_t>(rank), i)) *
                                 static_cast<double>(examples[rank]) / total;
                    found += double{all[rank].remembered[i]};
                }
                CHECK(found == given);
            }
            for (std::size_t rank = 0; rank < all.size(); ++rank) {
                CHECK(all[rank].parameters == all[0].parameters);
                if (static_cast<std::int64_t>(rank) % ranks_per_host != 0)
                    CHECK(is_zero(all[rank].remembered));
            }
            CHECK_FALSE(std::ranges::all_of(
                all, [](const ending& one) { return is_zero(one.remembered); }));
        }
}

TEST_CASE("between hosts only first ranks send, and only messages") {
    run_in_process(6, [](in_process& inner) {
        metered t(inner, 8);
        number_model model(matrices());
        auto state =
            all_reduce{plain, sparsified{top_k{.density = 0.02}, residual{}}, hierarchical{3}}.bind(
                model.layout(), t);
        std::vector<float> parameters(static_cast<std::size_t>(model.layout().size()));
        state.begin_epoch({.examples = 1, .batch_size = 1});
        const std::vector<std::int64_t> batch{t.rank()};
        detail::round_input<number_model> job{model, batch, 1, 0, 0.0};
        state.round(job, parameters);
        const std::uint32_t of_groups = 1u << 20;
        for (int peer = 0; peer < 6; ++peer) {
            if (peer / 3 == t.rank() / 3) continue;
            const bool first_ranks = peer % 3 == 0 && t.rank() % 3 == 0;
            const traffic sent = t.with(peer, of_groups);
            CHECK(sent.messages_sent == (first_ranks ? 2 : 0));
            CHECK(sent.bytes_sent <= 60);  // 4 and 1 of 250 entries
        }
    });
}

TEST_CASE("a host whose sum is not finite says so") {
    CHECK_THROWS_WITH_AS(
        run_in_process(
            2,
            [](in_process& t) {
                number_model model(matrices());
                model.spoil = [](std::span<float> g) { std::ranges::fill(g.first(200), 3e38f); };
                auto state =
                    all_reduce{plain, sparsified{top_k{}, residual{}}, hierarchical{2}}.bind(
                        model.layout(), t);
                std::vector<float> parameters(static_cast<std::size_t>(model.layout().size()));
                // Both count themselves alone, so that nothing is divided.
                state.begin_epoch({.examples = 1, .batch_size = 1});
                const std::vector<std::int64_t> batch{1};
                detail::round_input<number_model> job{model, batch, 100, 0, 0.0};
                state.round(job, parameters);
            }),
        "the sum over the ranks of a host is not finite: tensor 'first', element 0", error);
}

TEST_CASE("what a hierarchy cannot do is refused when it is bound") {
    run_in_process(2, [](in_process& t) {
        const layout tensors = matrices();
        const dgc whole{.clip_norm = 1.0, .clip = local_clipping::per_model};
        CHECK_THROWS_AS((all_reduce{plain, whole, hierarchical{2}}.bind(tensors, t)),
                        invalid_option);
        CHECK_THROWS_AS((all_reduce{plain, dgc{}, hierarchical{0}}.bind(tensors, t)),
                        invalid_option);
    });
}
