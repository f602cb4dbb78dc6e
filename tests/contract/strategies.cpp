// What every strategy that keeps replicas alike promises, over every transport and for every number
// of ranks, against one rank that computes everything alone.

#include <doctest/doctest.h>

#include <cstddef>
#include <cstdint>
#include <span>
#include <tuple>
#include <utility>
#include <vector>

#include "sotto/collectives/all_gather.hpp"
#include "sotto/collectives/detail/all_gather_v.hpp"
#include "sotto/collectives/all_reduce.hpp"
#include "sotto/collectives/detail/fitting.hpp"
#include "sotto/collectives/halving_doubling.hpp"
#include "sotto/collectives/hierarchical.hpp"
#include "sotto/collectives/ring.hpp"
#include "sotto/collectives/tree.hpp"
#include "sotto/transports/metered.hpp"
#include "support/all_policies.hpp"
#include "support/all_transports.hpp"
#include "support/sensible.hpp"
#include "support/training.hpp"

using namespace sotto;
using testing::exercise, testing::train, testing::trained, testing::sensible;

namespace {

/// SGD that says nothing about sparse updates, so that every update is a dense one.
struct dense_sgd {
    sgd inner{};
    static constexpr bool linear = true;

    class state {
    public:
        state(const sgd& options, const layout& tensors) : inner_(options.bind(tensors)) {}
        void follow_momentum(const detail::carried_momentum& momentum) noexcept {
            inner_.follow_momentum(momentum);
        }
        void begin_step(const step_info& step, std::span<const float> gradient) noexcept {
            inner_.begin_step(step, gradient);
        }
        void update(const tensor& t, std::span<float> parameters,
                    std::span<const float> gradient) noexcept {
            inner_.update(t, parameters, gradient);
        }
        void visit(auto&& field) { inner_.visit(field); }

    private:
        sgd::state inner_;
    };
    state bind(const layout& tensors) const { return {inner, tensors}; }
    void describe(auto&& field) const { field("inner", inner); }
};

template <class Compressor>
using by_sgd =
    std::conditional_t<sotto::detail::holds_momentum<Compressor>, all_reduce<sgd, Compressor>,
                       all_reduce<momentum_sgd, Compressor>>;

sgd plain() {
    return {.learning_rate = 0.0625};
}

layout vectors_only() {
    layout tensors;
    tensors.add("bias", {12}, tensor_kind::bias);
    tensors.add("scalar", {}, tensor_kind::bias);
    tensors.add("scale", {30}, tensor_kind::normalisation);
    return tensors;
}

layout nothing_but_empty() {
    layout tensors;
    tensors.add("empty", {0, 3});
    tensors.add("none", {0});
    return tensors;
}

}  // namespace

TEST_CASE_TEMPLATE_DEFINE("all ranks end with bit-identical parameters, however many there are", S,
                          replicas_agree) {
    for (int world = 1; world <= 5; ++world) {
        const auto ranks = train(world, sensible<S>::options());
        CHECK(agree(ranks));
        CHECK_FALSE(ranks[0].same_parameters(
            train(world, sensible<S>::options(), {.length = epochs{0}})[0]));
    }
}
TEST_CASE_TEMPLATE_APPLY(replicas_agree, testing::every_strategy);

TEST_CASE_TEMPLATE_DEFINE("it makes no difference what the messages go through", S,
                          transports_agree) {
    const auto over_threads = train(3, sensible<S>::options());
    const auto metered = train<testing::over_metered>(3, sensible<S>::options());
    const auto grouped = train<testing::over_group>(3, sensible<S>::options());
    for (std::size_t rank = 0; rank < 3; ++rank) {
        CHECK(over_threads[rank].same_state(metered[rank]));
        CHECK(over_threads[rank].same_state(grouped[rank]));
    }
    if constexpr (!testing::makes_groups<S>) {
        const auto inner = train<testing::over_group_of_group>(3, sensible<S>::options());
        for (std::size_t rank = 0; rank < 3; ++rank)
            CHECK(over_threads[rank].same_state(inner[rank]));
    }
}
TEST_CASE_TEMPLATE_APPLY(transports_agree, testing::strategies_of_each_kind);

TEST_CASE_TEMPLATE_DEFINE("every compressor keeps replicas alike, in any order of announcement", C,
                          compressors_agree) {
    using testing::announces;
    const auto strategy = sensible<by_sgd<C>>::options();
    exercise work;
    const auto expected = train(3, strategy, work);
    CHECK(agree(expected));
    for (const announces order :
         {announces::first_to_last, announces::outside_in, announces::some, announces::none}) {
        work.model.order = order;
        const auto ranks = train(3, strategy, work);
        for (std::size_t rank = 0; rank < 3; ++rank) CHECK(ranks[rank].same_state(expected[rank]));
    }
}
TEST_CASE_TEMPLATE_APPLY(compressors_agree, testing::every_compressor);

TEST_CASE("N workers equal one worker with N times the batch") {
    // Weights of one half and one quarter and integer gradients: exact. A rate of a power of two
    // keeps the parameters exact for some steps too.
    exercise exact{.batch_size = 4, .length = steps{4}};
    for (const int world : {2, 4}) {
        const auto many = train(world, all_reduce{plain()}, exact);
        exercise one = exact;
        one.batch_size *= world;
        CHECK(many[0].same_state(train(1, all_reduce{plain()}, one)[0]));
    }
    exercise pulled{.batch_size = 4, .length = epochs{3}};
    pulled.model.pull = 0.25f;
    for (const int world : {2, 3, 5}) {
        exercise one = pulled;
        one.batch_size *= world;
        const auto strategy = all_reduce{momentum_sgd{.learning_rate = 0.05}};
        CHECK(distance(train(world, strategy, pulled)[0], train(1, strategy, one)[0]) < 1e-4);
        const auto adaptive = all_reduce{adamw{.learning_rate = 0.01}};
        CHECK(distance(train(world, adaptive, pulled)[0], train(1, adaptive, one)[0]) < 1e-2);
    }
}

TEST_CASE("at density 1 without masking Deep Gradient Compression is momentum SGD") {
    for (const bool nesterov : {false, true}) {
        const dgc everything{.density = 1.0,
                             .momentum = 0.5,
                             .nesterov = nesterov,
                             .mask = false,
                             .warm_up_epochs = 0};
        const momentum_sgd dense{.learning_rate = 0.0625, .momentum = 0.5, .nesterov = nesterov};
        // Momentum of one half: all is exact, so nothing depends on where the momentum is applied.
        const exercise exact{.length = steps{5}};
        for (const int world : {1, 2, 4})
            CHECK(train(world, all_reduce{plain(), everything}, exact)[0].same_parameters(
                train(world, all_reduce{dense}, exact)[0]));
        exercise pulled{.length = epochs{3}};
        pulled.model.pull = 0.25f;
        CHECK(distance(train(3, all_reduce{plain(), everything}, pulled)[0],
                       train(3, all_reduce{dense}, pulled)[0]) < 1e-4);
    }
}

TEST_CASE("at density 1 memories of ranks whose data are used up go on as one momentum does") {
    const momentum_corrected memory{.momentum = 0.5, .mask = false};
    const momentum_sgd dense{.learning_rate = 0.0625, .momentum = 0.5};
    const dgc everything{.density = 1.0, .momentum = 0.5, .mask = false, .warm_up_epochs = 0};
    // Shares of one half and one quarter in every round.
    for (const auto& own : {std::vector<std::int64_t>{8, 0}, {8, 4}, {8, 8, 4, 4}, {4, 8, 8, 4}}) {
        const exercise work{.batch_size = 4, .length = epochs{2}, .own = own};
        const int world = static_cast<int>(own.size());
        const trained expected = train(world, all_reduce{dense}, work)[0];
        const auto same = [&](const auto& compressor, auto collective) {
            const auto ranks = train(world, all_reduce{plain(), compressor, collective}, work);
            CHECK(agree(ranks));
            CHECK(ranks[0].same_parameters(expected));
        };
        same(everything, detail::collectives::fitting{});
        same(everything, collectives::sparse_reduce_scatter{});
        same(everything, collectives::hierarchical{.ranks_per_host = 2});
        const sparsified shared{random_k{.density = 1.0}, memory};
        same(shared, collectives::ring{});
        same(shared, collectives::all_gather{});
    }
}

TEST_CASE("with masking at density 1 it is SGD without momentum, where tensors are matrices") {
    layout matrices;
    matrices.add("first", {20, 10}).add("second", {10, 5});
    exercise work{.model = testing::number_model(matrices)};
    const dgc masked{.density = 1.0, .momentum = 0.5, .mask = true, .warm_up_epochs = 0};
    CHECK(train(2, all_reduce{plain(), masked}, work)[0].same_parameters(
        train(2, all_reduce{plain()}, work)[0]));
}

TEST_CASE_TEMPLATE_DEFINE("entries applied one by one give the bits of a dense update", C,
                          sparse_equals_dense) {
    exercise work{.length = epochs{3}};
    work.model.pull = 0.3f;
    const auto compressor = sensible<C>::options();
    for (const int world : {1, 3, 4}) {
        const auto sparsely = train(world, all_reduce{plain(), compressor}, work);
        const auto densely = train(world, all_reduce{dense_sgd{plain()}, compressor}, work);
        for (std::size_t rank = 0; rank < sparsely.size(); ++rank)
            CHECK(sparsely[rank].same_state(densely[rank]));
    }
}
TEST_CASE_TEMPLATE_APPLY(sparse_equals_dense, testing::every_compressor);

TEST_CASE("every collective gives the same sums of integers") {
    for (int world = 1; world <= 5; ++world) {
        // One half from the first rank and one from the last: exact for any number of ranks.
        exercise work{.length = steps{1}, .own = std::vector<std::int64_t>(std::size_t(world))};
        work.own.front() = work.own.back() = work.batch_size;
        const auto by = [&](auto collective) {
            return train(world, all_reduce{plain(), none{}, collective}, work)[0];
        };
        const trained by_ring = by(collectives::ring{});
        CHECK(by_ring.same_state(by(collectives::tree{})));
        CHECK(by_ring.same_state(by(collectives::halving_doubling{})));
        CHECK(by_ring.same_state(by(collectives::recursive_doubling{})));
        CHECK(by_ring.same_state(by(collectives::automatic{})));
        CHECK(by_ring.same_state(by(collectives::all_gather{})));
        CHECK(by_ring.same_state(by(detail::collectives::fitting{})));
    }
}

TEST_CASE_TEMPLATE_DEFINE("small tensors that travel together become what each becomes alone", C,
                          together_equals_alone) {
    // Weights of one half and one quarter, integer gradients: exact, whatever the order of sums.
    for (const int world : {1, 2, 4}) {
        auto strategy = sensible<by_sgd<C>>::options();
        strategy.bucket_bytes = 0;
        const auto alone = train(world, strategy);
        for (const std::int64_t bytes : {64, 1500, 1 << 20}) {
            strategy.bucket_bytes = bytes;
            const auto together = train(world, strategy);
            for (std::size_t rank = 0; rank < together.size(); ++rank)
                CHECK(together[rank].same_state(alone[rank]));
        }
    }
}
TEST_CASE_TEMPLATE_APPLY(together_equals_alone, testing::every_compressor);

TEST_CASE("in a hierarchy small tensors travel together, too") {
    all_reduce strategy{plain(), sensible<dgc>::options(),
                        collectives::hierarchical{.ranks_per_host = 2}, 0};
    layout tensors = vectors_only();
    tensors.add("matrix", {12, 10});
    const exercise work{.model = testing::number_model(tensors)};
    const auto alone = train(4, strategy, work);
    strategy.bucket_bytes = 1 << 20;
    const auto together = train(4, strategy, work);
    for (std::size_t rank = 0; rank < 4; ++rank) CHECK(together[rank].same_state(alone[rank]));
}

TEST_CASE("tensors that travel together are as many bytes in fewer messages") {
    const exercise work{.model = testing::number_model(vectors_only()), .length = steps{3}};
    const auto counted = [&](std::int64_t bucket_bytes, const auto& compressor) {
        traffic total;
        std::vector<std::int64_t> by_tensor;
        run_in_process(2, [&](in_process& inner) {
            metered transport(inner);
            testing::number_model model = work.model;
            const all_reduce strategy{plain(), compressor, detail::collectives::fitting{},
                                      bucket_bytes};
            trainer trainer{model, strategy, transport, {.batch_size = 4}};
            std::vector<std::int64_t> sizes;
            const auto keep = [&](const step_report& step) {
                const auto& of_tensors = step.round.tensor_message_bytes;
                sizes.assign(of_tensors.begin(), of_tensors.end());
                std::int64_t sum = 0;
                for (const std::int64_t size : sizes) sum += size;
                CHECK(step.round.message_bytes == sum);
            };
            trainer.fit(testing::numbered{work.examples}, work.length, keep);
            if (transport.rank() != 0) return;
            total = transport.on(channels::sums);
            by_tensor = sizes;
        });
        return std::pair(total, by_tensor);
    };
    const auto compare = [&](const auto& compressor) {
        const auto [alone, sizes_alone] = counted(0, compressor);
        const auto [together, sizes_together] = counted(1 << 20, compressor);
        CHECK(sizes_together == sizes_alone);
        CHECK(together.bytes_sent == alone.bytes_sent);
        CHECK(3 * together.messages_sent == alone.messages_sent);
    };
    compare(none{});
    compare(fp16{});
    compare(sensible<dgc>::options());
}

TEST_CASE("gathered messages travel directly or around a ring") {
    using sotto::detail::collectives::route;
    const auto by = [](detail::collectives::route way) {
        return train(
            4, all_reduce{plain(), sensible<dgc>::options(), collectives::all_gather{.way = way}});
    };
    CHECK(by(detail::collectives::route::direct)[2].same_state(
        by(detail::collectives::route::ring)[2]));
    CHECK(by(detail::collectives::route::direct)[1].same_state(
        train(4, all_reduce{plain(), sensible<dgc>::options()})[1]));
}

TEST_CASE("shared entries gathered with their indices are those summed without, vectors too") {
    // Two ranks: a sum of two has one order.
    using compressor = sparsified<random_k, momentum_corrected>;
    const compressor shared{random_k{.density = 0.2}, momentum_corrected{}};
    const trained summed = train(2, all_reduce{plain(), shared})[1];
    CHECK(summed.same_state(train(2, all_reduce{plain(), shared, collectives::all_gather{}})[1]));
    const trained alone = train(2, all_reduce{plain(), random_k{.density = 0.2}})[0];
    CHECK(alone.same_state(
        train(2, all_reduce{plain(), random_k{.density = 0.2}, collectives::all_gather{}})[0]));
}

TEST_CASE_TEMPLATE_DEFINE("models of vectors, of empty tensors and of nothing can be trained", C,
                          odd_layouts) {
    const auto strategy = sensible<by_sgd<C>>::options();
    for (const layout& tensors : {vectors_only(), nothing_but_empty(), layout{}}) {
        exercise work{.model = testing::number_model(tensors)};
        for (const int world : {1, 3}) CHECK(agree(train(world, strategy, work)));
    }
}
TEST_CASE_TEMPLATE_APPLY(odd_layouts, testing::every_compressor);

TEST_CASE("clipping by the norm of the whole model waits for all tensors and clips them alike") {
    // Alone and at density 1 without momentum, a clipped gradient is the optimizer's.
    exercise work{.length = epochs{2}};
    work.model.pull = 0.5f;
    const dgc local{.density = 1.0,
                    .momentum = 0.0,
                    .warm_up_epochs = 0,
                    .clip_norm = 3.0,
                    .clip = local_clipping::per_model};
    const clipped global{plain(), 3.0};
    CHECK(train(1, all_reduce{plain(), local}, work)[0].same_parameters(
        train(1, all_reduce{global}, work)[0]));
    CHECK_FALSE(train(1, all_reduce{plain(), local}, work)[0].same_parameters(
        train(1, all_reduce{plain()}, work)[0]));
    for (const auto order : {testing::announces::first_to_last, testing::announces::none}) {
        exercise other = work;
        other.model.order = order;
        const auto ranks = train(3, all_reduce{plain(), local}, other);
        CHECK(agree(ranks));
        CHECK(ranks[1].same_state(train(3, all_reduce{plain(), local}, work)[1]));
    }
}

TEST_CASE("messages in halves keep replicas alike, and differ from floats by rounding alone") {
    exercise work{.length = epochs{2}};
    work.model.pull = 0.3f;
    dgc halves = sensible<dgc>::options();
    const auto floats = train(3, all_reduce{plain(), halves}, work);
    for (const auto format : {wire::value_format::fp16, wire::value_format::bf16}) {
        halves.values = format;
        const auto ranks = train(3, all_reduce{plain(), halves}, work);
        CHECK(agree(ranks));
        CHECK_FALSE(ranks[0].same_parameters(floats[0]));
    }
    const auto dense = train(3, all_reduce{plain()}, work);
    CHECK(distance(train(3, all_reduce{plain(), fp16{}}, work)[0], dense[0]) < 0.05);
    CHECK(distance(train(3, all_reduce{plain(), bf16{}}, work)[0], dense[0]) < 0.4);
}

TEST_CASE("ranks with unequal shares take the mean over all examples of a round") {
    // One rank that reads in each round what all ranks together read in it.
    struct all_at_once {
        using batch_type = testing::numbered::batch_type;
        std::vector<batch_type> rounds;
        std::int64_t size() const { return static_cast<std::int64_t>(rounds.size()); }
        void gather(std::span<const std::int64_t> indices, batch_type& batch) const {
            batch = rounds[static_cast<std::size_t>(indices[0])];
        }
    };
    const std::vector<std::vector<std::int64_t>> shares{
        {8, 0}, {0, 5}, {7, 3, 0}, {1, 9, 4, 4}, {4, 4, 4, 4, 1}, {0, 0, 6}, {13}};
    for (const auto& own : shares) {
        exercise work{.batch_size = 4, .length = epochs{1}, .own = own};
        const int world = static_cast<int>(own.size());
        all_at_once together;
        for (std::int64_t round = 0;; ++round) {
            testing::numbered::batch_type all;
            for (int rank = 0; rank < world; ++rank) {
                const auto data = own_examples(work, rank);
                detail::data::sampler sampler(data.size(), {}, work.batch_size,
                                              random_stream(work.seed).split("order"));
                for (const std::int64_t i : sampler.batch(round)) all.push_back(data.first + i);
            }
            if (all.empty()) break;
            together.rounds.push_back(all);
        }
        std::vector<float> expected;
        double loss = 0.0;
        run_in_process(1, [&](in_process& transport) {
            testing::number_model model;
            trainer trainer{model,
                            all_reduce{plain()},
                            transport,
                            {.batch_size = 1, .seed = work.seed, .shuffle = false}};
            trainer.fit(together, epochs{1});
            expected.assign(trainer.parameters().begin(), trainer.parameters().end());
        });
        std::int64_t count = 0;
        for (const auto& round : together.rounds)
            for (const std::int64_t example : round) loss += static_cast<double>(example), ++count;
        for (const auto& ranks :
             {train(world, all_reduce{plain()}, work),
              train(world, all_reduce{plain(), top_k{.density = 1.0}}, work),
              train(world, all_reduce{plain(), ef21{top_k{.density = 1.0}}}, work)}) {
            CHECK(agree(ranks));
            for (const trained& rank : ranks) {
                CHECK(rank.report.steps == static_cast<std::int64_t>(together.rounds.size()));
                CHECK(rank.report.loss == doctest::Approx(loss / static_cast<double>(count)));
            }
            CHECK(distance(ranks[0], {expected, {}, {}}) < 1e-5);
        }
    }
}

TEST_CASE_TEMPLATE_DEFINE("ranks whose data are used up take part without a gradient", S,
                          unequal_shares) {
    for (const auto& own : {std::vector<std::int64_t>{8, 0}, {7, 3, 0}, {1, 9, 4, 4}}) {
        const exercise work{.batch_size = 2, .length = epochs{3}, .own = own};
        const auto ranks = train(static_cast<int>(own.size()), sensible<S>::options(), work);
        CHECK(agree(ranks));
        for (const trained& rank : ranks) {
            CHECK(rank.report.steps == ranks[0].report.steps);
            CHECK(rank.report.loss == ranks[0].report.loss);
        }
    }
}
TEST_CASE_TEMPLATE_APPLY(unequal_shares, testing::every_strategy);

TEST_CASE("no examples on any rank are an error on all of them") {
    CHECK_THROWS_WITH_AS(train(2, all_reduce{plain()}, {.own = {0, 0}}),
                         "fit: no rank has any examples to train on", invalid_option);
}
