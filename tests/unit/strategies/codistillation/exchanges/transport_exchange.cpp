#include "sotto/strategies/codistillation/exchanges/transport_exchange.hpp"

#include <doctest/doctest.h>

#include <array>
#include <chrono>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "sotto/checkpoint/detail/published_model.hpp"
#include "sotto/compressors/none.hpp"
#include "sotto/compressors/top_k.hpp"
#include "sotto/core/errors.hpp"
#include "sotto/core/layout.hpp"
#include "sotto/core/random.hpp"
#include "sotto/data/digits.hpp"
#include "sotto/distillation/forward_kl.hpp"
#include "sotto/models/mlp.hpp"
#include "sotto/optimizers/momentum_sgd.hpp"
#include "sotto/strategies/all_reduce.hpp"
#include "sotto/strategies/codistillation.hpp"
#include "sotto/strategies/codistillation/exchanges/teacher_exchange.hpp"
#include "sotto/trainer/trainer.hpp"
#include "sotto/transports/run_in_process.hpp"
#include "sotto/transports/run_simulated.hpp"
#include "sotto/transports/simulated_options.hpp"
#include "sotto/transports/speeds.hpp"
#include "sotto/wire/detail/protocols/model_message.hpp"

using namespace sotto;

namespace {

const layout tensors = layout().add("weights", {6, 5}).add("bias", {5});

detail::checkpoint::architecture some_kind(std::string description = "a model") {
    return {tensors, layout().add("mean", {3}), std::move(description)};
}

std::vector<float> numbers(std::size_t count, std::uint64_t seed) {
    std::vector<float> values(count);
    random_stream random(seed);
    for (float& value : values) value = static_cast<float>(random.uniform() - 0.5);
    return values;
}

/// Two groups of a rank each: what the second knows of the first after each of its models.
template <class Compressor>
std::vector<detail::checkpoint::published_model> heard(
    const Compressor& compressor, const std::vector<std::vector<float>>& models,
    traffic* sent = nullptr) {
    std::vector<detail::checkpoint::published_model> found;
    run_in_process(2, [&](auto& world) {
        const int own = world.rank();
        auto exchange = transport_exchange{compressor}.bind(
            detail::meeting_place{{own, 2}, {1 - own}, {1 - own}, tensors, world, {0, 1}});
        exchange.begin(3);
        const auto kind = some_kind();
        std::byte next{};
        for (std::size_t i = 0; i < models.size(); ++i) {
            const auto buffers = numbers(3, i);
            if (own == 0) {
                exchange.publish(kind,
                                 {.step = static_cast<std::int64_t>(10 * (i + 1)),
                                  .label_loss = 0.5,
                                  .architecture = kind.identity(),
                                  .judged = {{1, 0.25 + static_cast<double>(i)}}},
                                 models[i], buffers, std::array{1});
                CHECK(exchange.problem() == "");
                CHECK(exchange.skipped() == 0);
                world.wait(world.receive(1, {16, 0, 0}, {&next, 1}));
            } else {
                std::optional<detail::checkpoint::published_model> model;
                while (!(model = exchange.look(kind, 0, static_cast<std::int64_t>(10 * i)))) {}
                CHECK(model->buffers == buffers);
                found.push_back(std::move(*model));
                CHECK_FALSE(exchange.look(kind, 0, -1));
                world.wait(world.send(0, {16, 0, 0}, {&next, 1}));
            }
        }
        exchange.finish([] {});
        if (sent && own == 0) *sent = world.counters();
    });
    return found;
}

double distance(std::span<const float> a, std::span<const float> b) {
    double sum = 0.0;
    for (std::size_t i = 0; i < a.size(); ++i) sum += (a[i] - b[i]) * (a[i] - b[i]);
    return std::sqrt(sum);
}

const all_reduce<momentum_sgd> inner{momentum_sgd{.learning_rate = 0.05, .momentum = 0.9}};
const auto examples = data::digits(240, random_stream{3});

struct left {
    std::vector<float> parameters;
    std::vector<detail::taught_report> taught;
    std::vector<std::int64_t> bytes_sent;
};

/// Ranks on a simulated network, where the outcome does not depend on how fast this machine is. A
/// message takes as long as some steps.
template <class Strategy>
std::vector<left> train(int ranks, const Strategy& strategy, std::int64_t count = 24, int fits = 1,
                        speeds::slowness slowness = speeds::constant{}) {
    std::vector<left> all(static_cast<std::size_t>(ranks));
    const simulated_options network{.line = {1e9, 1e9, std::chrono::microseconds(5)},
                                    .machine = {.flops = 5e9},
                                    .slowness = slowness};
    run_simulated(ranks, network, [&](auto& transport) {
        const auto rank = static_cast<std::size_t>(transport.rank());
        models::mlp model{784, 12, 10};
        trainer trainer{model, strategy, transport, {.batch_size = 10, .seed = 5}};
        for (int fit = 0; fit < fits; ++fit)
            trainer.fit(examples, steps{count}, [&](const step_report& step) {
                all[rank].taught.push_back(step.round.taught);
                all[rank].bytes_sent.push_back(step.round.bytes_sent);
            });
        all[rank].parameters.assign(trainer.parameters().begin(), trainer.parameters().end());
    });
    return all;
}

template <class Compressor = none>
auto taught_by(codistillation_groups groups, Compressor compressor = {}) {
    return codistillation{inner, forward_kl{}, transport_exchange{compressor}, groups,
                          constant_weight{1.0}};
}

std::int64_t heard_steps(const left& rank) {
    std::int64_t count = 0;
    for (const detail::taught_report& round : rank.taught) count += round.teachers > 0;
    return count;
}

}  // namespace

TEST_CASE("a model comes as it is, or rounded to half its bytes") {
    const std::vector models{numbers(35, 1), numbers(35, 2), numbers(35, 3)};
    traffic whole, half;
    const auto exact = heard(none{}, models, &whole);
    REQUIRE(exact.size() == 3);
    for (std::size_t i = 0; i < 3; ++i) {
        CHECK(exact[i].parameters == models[i]);
        CHECK(exact[i].facts.step == static_cast<std::int64_t>(10 * (i + 1)));
        CHECK(exact[i].facts.label_loss == 0.5);
        CHECK(exact[i].facts.judged ==
              std::vector<detail::checkpoint::judgement>{{1, 0.25 + static_cast<double>(i)}});
    }
    // A model: a header of 48 + 4 x 8 bytes, 3 floats beside the parameters, a double a group, and
    // a byte a tensor.
    CHECK(whole.bytes_sent == 3 * (80 + 12 + 16 + 2 + 35 * 4));
    const auto rounded = heard(fp16{}, models, &half);
    CHECK(half.bytes_sent == 3 * (80 + 12 + 16 + 2 + 35 * 2));
    CHECK(distance(rounded[2].parameters, models[2]) <
          distance(models[2], std::vector<float>(35)) / 1024);
}

TEST_CASE("of a compressed change what was not sent comes later") {
    std::vector models{numbers(35, 1), numbers(35, 2)};
    for (int i = 0; i < 30; ++i) models.push_back(models[1]);
    traffic sent;
    const auto found = heard(top_k{.density = 0.1}, models, &sent);
    CHECK(found[0].parameters == models[0]);  // the first is whole
    double before = distance(models[0], models[1]);
    for (std::size_t i = 1; i < found.size(); ++i) {
        const double now = distance(found[i].parameters, models[1]);
        CHECK(now <= before);
        before = now;
    }
    CHECK(found[1].parameters != models[1]);
    CHECK(before < 1e-6);
    CHECK(sent.bytes_sent < 32 * (80 + 12 + 16 + 2 + 35 * 4) * 3 / 4);
}

TEST_CASE("another's model is refused, and the next that is whole is heard again") {
    run_in_process(2, [&](auto& world) {
        const int own = world.rank();
        auto exchange = transport_exchange<>{}.bind(
            detail::meeting_place{{own, 2}, {1 - own}, {1 - own}, tensors, world, {0, 1}});
        exchange.begin(3);
        const auto kind = some_kind(), other = some_kind("another's");
        const auto model = numbers(35, 1), buffers = numbers(3, 1);
        std::byte next{};
        const auto send = [&](const detail::checkpoint::architecture& of) {
            exchange.publish(of, {.step = 1, .architecture = of.identity()}, model, buffers,
                             std::array{1});
            world.wait(world.receive(1, {16, 0, 0}, {&next, 1}));
        };
        const auto look = [&]() -> std::string {
            while (true) try {
                    if (exchange.look(kind, 0, -1)) return "heard";
                } catch (const mismatch& e) {
                    return e.what();
                }
        };
        if (own == 0) {
            send(other);
            send(kind);
        } else {
            const std::string why = look();
            CHECK(why.find("rank 0 sends a model of architecture") != why.npos);
            world.wait(world.send(0, {16, 0, 0}, {&next, 1}));
            std::string then;
            while ((then = look()) == why) {}
            CHECK(then == "heard");
            world.wait(world.send(0, {16, 0, 0}, {&next, 1}));
        }
        exchange.finish([] {});
    });
}

TEST_CASE("parameters that are not finite are not published where their bytes cannot say so") {
    run_in_process(1, [&](auto& world) {
        auto exchange =
            transport_exchange<>{}.bind(detail::meeting_place{{0, 1}, {}, {}, tensors, world, {0}});
        auto model = numbers(35, 1);
        model[31] = std::nanf("");
        exchange.begin(0);
        exchange.publish(some_kind(), {}, model, {}, {});
        CHECK(exchange.problem().find("'bias'") != std::string::npos);
        exchange.publish(some_kind(), {}, numbers(35, 1), {}, {});
        CHECK(exchange.problem() == "");
        exchange.finish([] {});
    });
}

TEST_CASE("groups learn from each other over a transport, for (n - 1) models an interval") {
    const auto taught = train(4, taught_by({.every = 5}));
    CHECK(taught[0].parameters == taught[1].parameters);
    CHECK(taught[2].parameters == taught[3].parameters);
    CHECK(taught[0].parameters != taught[2].parameters);
    const models::mlp model{784, 12, 10};
    const std::int64_t size = 4 * model.layout().size();
    for (const left& rank : taught) {
        // There after 5 steps, or where it was still on its way after 10.
        CHECK(heard_steps(rank) >= 14);
        for (const detail::taught_report& round : rank.taught)
            if (round.teachers > 0) CHECK(round.age >= 0);
        for (std::size_t step = 0; step < rank.taught.size(); ++step) {
            const detail::taught_report& round = rank.taught[step];
            if (round.teachers == 0) continue;
            // The last model of the interval, or the one before while that is on its way.
            const auto of = static_cast<std::int64_t>(step) - round.age;
            CHECK(of % 5 == 0);
            CHECK(of >= static_cast<std::int64_t>(step / 5 * 5) - 5);
        }
    }
    for (const std::size_t leader : {0u, 2u}) {
        std::int64_t sent = 0;
        for (const detail::taught_report& round : taught[leader].taught) sent += round.bytes_sent;
        // A model: a header of 48 + 6 x 8 bytes, a double a group, and a byte a tensor beside it.
        CHECK(sent == 4 * (48 + 6 * 8 + 16 + 4 + size));
    }
    for (const std::size_t other : {1u, 3u})
        for (const detail::taught_report& round : taught[other].taught)
            CHECK(round.bytes_sent == 0);
    // Twice the same, to the last bit.
    CHECK(train(4, taught_by({.every = 5}))[3].parameters == taught[3].parameters);
}

TEST_CASE("a model goes to each of the other groups: (n - 1) of them an interval") {
    const std::int64_t size = 4 * models::mlp{784, 12, 10}.layout().size();
    for (const left& rank : train(3, taught_by({.count = 3, .every = 5}))) {
        std::int64_t sent = 0;
        for (const detail::taught_report& round : rank.taught) sent += round.bytes_sent;
        CHECK(sent == 4 * (3 - 1) * (48 + 6 * 8 + 24 + 4 + size));
    }
}

TEST_CASE("a group that is done waits for one whose models come further apart than anybody waits") {
    // A step of the slow rank takes seconds, so that its group's only model takes minutes.
    const auto taught =
        train(4, taught_by({.every = 50}), 55, 1, speeds::one_slow{.rank = 3, .factor = 2e4});
    for (const left& rank : taught) CHECK(rank.taught.size() == 55);
    CHECK(heard_steps(taught[2]) == 5);
}

TEST_CASE("a group that is done waits for the others, and all go on with the next fit") {
    for (const int slow : {0, 3}) {
        const auto taught = train(4, taught_by({.every = 5}, fp16{}), 30, 2,
                                  speeds::one_slow{.rank = slow, .factor = 20.0});
        for (const left& rank : taught) {
            REQUIRE(rank.taught.size() == 60);
            CHECK(heard_steps(rank) > 0);
        }
        CHECK(taught[0].parameters == taught[1].parameters);
        CHECK(taught[2].parameters == taught[3].parameters);
        // The group of the slow rank sees the other one's models of steps to come.
        CHECK(taught[static_cast<std::size_t>(slow)].taught[12].age < 0);
    }
}

TEST_CASE("with other topologies, and by changes alone") {
    for (const auto whom :
         {codistillation_groups::lessons_from::ring, codistillation_groups::lessons_from::pairs,
          codistillation_groups::lessons_from::random}) {
        const auto groups = codistillation_groups{.count = 4, .every = 5, .lessons = whom};
        for (const left& rank : train(4, taught_by(groups), 40)) {
            CHECK(heard_steps(rank) > 10);
            for (const detail::taught_report& round : rank.taught) CHECK(round.teachers <= 1);
        }
        for (const left& rank : train(4, taught_by(groups, top_k{.density = 0.05}), 40))
            CHECK(heard_steps(rank) > 10);
    }
}

TEST_CASE("groups that are jobs of their own have no transport in common") {
    CHECK_THROWS_WITH_AS(train(1, taught_by({.only = 1})),
                         "transport_exchange: groups that are jobs of their own, see "
                         "codistillation_groups, have no transport in common; let them meet in a "
                         "folder: checkpoint_exchange",
                         invalid_option);
}
