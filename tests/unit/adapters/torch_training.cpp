#include "support/with_torch.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <vector>

#include "sotto/checkpoint/saved_model.hpp"
#include "sotto/compressors/dgc.hpp"
#include "sotto/strategies/parameter_server/consistency/asynchronous.hpp"
#include "sotto/core/describe.hpp"
#include "sotto/core/errors.hpp"
#include "sotto/core/layout.hpp"
#include "sotto/optimizers/momentum_sgd.hpp"
#include "sotto/optimizers/sgd.hpp"
#include "sotto/staleness/delay_compensation.hpp"
#include "sotto/strategies/all_reduce.hpp"
#include "sotto/strategies/detail/codistillation/architecture_of.hpp"
#include "sotto/strategies/codistillation.hpp"
#include "sotto/strategies/gossip.hpp"
#include "sotto/strategies/local_updates.hpp"
#include "sotto/strategies/parameter_server.hpp"
#include "sotto/strategies/codistillation/exchanges/prediction_exchange.hpp"
#include "sotto/strategies/codistillation/exchanges/transport_exchange.hpp"
#include "sotto/trainer/publish.hpp"
#include "sotto/trainer/save_model.hpp"
#include "sotto/trainer/trainer.hpp"
#include "sotto/transports/run_in_process.hpp"
#include "sotto/transports/run_simulated.hpp"
#include "support/folders.hpp"
#include "unit/adapters/torch_nets.hpp"

using namespace sotto;
using sotto::detail::architecture_of;

namespace {

using floats_of_net = std::vector<float>;

/// What a run of the convolving module left on each rank.
struct learnt_net {
    std::vector<floats_of_net> parameters, buffers;
    evaluation found{};  // by rank 0
};

template <class Strategy, class... Extras>
learnt_net train_net(int world, const Strategy& strategy, sotto::detail::training_length length,
                     Extras... extras) {
    const auto seen = torch_test::quarters(256, 1), unseen = torch_test::quarters(200, 2);
    learnt_net left;
    left.parameters.resize(static_cast<std::size_t>(world));
    left.buffers = left.parameters;
    run_in_process(world, [&](in_process& transport) {
        torch_model model{torch_test::convolving(), {.input = {1, 6, 6}}};
        trainer trainer{model, strategy, transport, {.batch_size = 8}};
        trainer.fit(seen, length, extras...);
        const evaluation found = trainer.evaluate_mean(unseen);
        const auto rank = static_cast<std::size_t>(transport.rank());
        left.parameters[rank].assign(trainer.parameters().begin(), trainer.parameters().end());
        left.buffers[rank].assign(model.buffers().begin(), model.buffers().end());
        if (rank == 0) left.found = found;
    });
    return left;
}

constexpr sgd plain_sgd{.learning_rate = 0.1};
const dgc sparse_dgc{.density = 0.05, .momentum = 0.9};

}  // namespace

TEST_CASE("every strategy trains a module of LibTorch") {
    const auto learns = [](const learnt_net& left) {
        CHECK(left.found.accuracy > 0.9);
        CHECK(left.found.examples == 200);
        // Each rank has running statistics of its own, from its own examples.
        CHECK(left.buffers[0] != left.buffers[1]);
    };
    SUBCASE("all_reduce") {
        const auto left = train_net(4, all_reduce{plain_sgd}, epochs{4});
        learns(left);
        for (const auto& all : left.parameters) CHECK(all == left.parameters[0]);
    }
    SUBCASE("Deep Gradient Compression") {
        const auto left = train_net(4, all_reduce{plain_sgd, sparse_dgc}, epochs{4});
        learns(left);
        for (const auto& all : left.parameters) CHECK(all == left.parameters[0]);
    }
    SUBCASE("parameter server") {
        learns(train_net(
            4, parameter_server{plain_sgd, asynchronous{}, delay_compensation{}, sparse_dgc},
            epochs{4}));
    }
    SUBCASE("gossip") {
        const auto left = train_net(4, gossip{sgd{.learning_rate = 0.1}}, epochs{8});
        learns(left);
        CHECK(left.parameters[0] != left.parameters[1]);
    }
    SUBCASE("local updates") {
        learns(train_net(4, local_updates{plain_sgd}, epochs{8}));
    }
}

TEST_CASE("ranks of a simulated network, which are one thread, learn the same as on threads") {
    const auto seen = torch_test::quarters(128, 1);
    const auto after = [&](auto&& run) {
        std::vector<floats_of_net> left(3);
        run([&](auto& transport) {
            torch_model model{torch_test::convolving(), {.input = {1, 6, 6}}};
            trainer trainer{model, all_reduce{plain_sgd, sparse_dgc}, transport, {.batch_size = 8}};
            trainer.fit(seen, epochs{2});
            left[static_cast<std::size_t>(transport.rank())].assign(trainer.parameters().begin(),
                                                                    trainer.parameters().end());
        });
        return left;
    };
    CHECK(after([](auto body) { run_simulated(3, {}, body); }) ==
          after([](auto body) { run_in_process(3, body); }));
}

TEST_CASE("modules of LibTorch teach each other") {
    const auto seen = torch_test::quarters(256, 1), unseen = torch_test::quarters(200, 2);
    const auto runs = [&](const auto& strategy) {
        run_in_process(4, [&](in_process& transport) {
            torch_model model{torch_test::convolving(), {.input = {1, 6, 6}}};
            trainer trainer{model, strategy, transport, {.batch_size = 8}};
            double taught = 0.0;
            const auto report = trainer.fit(seen, epochs{6}, [&](const step_report& step) {
                taught = std::max(taught, step.round.taught.distillation_loss);
            });
            CHECK(report.steps > 0);
            CHECK(trainer.evaluate(unseen).accuracy > 0.9);
            CHECK(taught > 0.0);
        });
    };
    const codistillation_groups often{.count = 2, .every = 4};
    const all_reduce inner{plain_sgd, sparse_dgc};
    SUBCASE("by models, with their running statistics") {
        runs(codistillation{inner, soft_cross_entropy{}, transport_exchange{}, often});
    }
    SUBCASE("by predictions") {
        runs(codistillation{inner, soft_cross_entropy{}, prediction_exchange{}, often});
    }
}

TEST_CASE("two ranks do what one does with twice the batch, to rounding") {
    const auto seen = torch_test::quarters(32, 1);
    const auto after = [&](int world) {
        floats_of_net left;
        run_in_process(world, [&](in_process& transport) {
            torch_model model{torch_test::plain(), {.input = {36}}};
            trainer trainer{model,
                            all_reduce{momentum_sgd{.learning_rate = 0.1}},
                            transport,
                            {.batch_size = 32 / world}};
            trainer.fit(seen, epochs{10});
            if (transport.rank() == 0)
                left.assign(trainer.parameters().begin(), trainer.parameters().end());
        });
        return left;
    };
    const auto one = after(1), two = after(2);
    double apart = 0.0, moved = 0.0;
    const auto start = torch_test::start_of(torch_model{torch_test::plain(), {.input = {36}}});
    for (std::size_t i = 0; i < one.size(); ++i) {
        apart = std::max(apart, std::abs(double{one[i]} - double{two[i]}));
        moved = std::max(moved, std::abs(double{one[i]} - double{start[i]}));
    }
    CHECK(moved > 0.1);
    CHECK(apart <= 1e-5 * moved);
}

TEST_CASE("a module that goes on from a checkpoint has the same bits, its buffers too") {
    const testing::scratch_folder folder("torch_checkpoint");
    const auto seen = torch_test::quarters(256, 1);
    const all_reduce strategy{plain_sgd, sparse_dgc};
    const auto whole = train_net(2, strategy, steps{20});
    const auto part =
        train_net(2, strategy, steps{12}, checkpoints{folder.path(), {.every_steps = 12}});
    CHECK(part.parameters != whole.parameters);
    run_in_process(2, [&](in_process& transport) {
        torch_model model{torch_test::convolving(), {.input = {1, 6, 6}}};
        trainer trainer{model, strategy, transport, {.batch_size = 8}};
        CHECK(trainer.resume(folder.path()).step == 12);
        const auto rank = static_cast<std::size_t>(transport.rank());
        CHECK(std::ranges::equal(model.buffers(), part.buffers[rank]));
        trainer.fit(seen, steps{20});
        CHECK(std::ranges::equal(trainer.parameters(), whole.parameters[rank]));
        CHECK(std::ranges::equal(model.buffers(), whole.buffers[rank]));
        CHECK(model.buffers().back() == 20.0f);  // num_batches_tracked

        // What others load is what an evaluation measures: the mean of the buffers.
        trainer.with_evaluated([&](auto& evaluated, std::span<const float> parameters, auto&) {
            evaluated.write_back(parameters);
            const auto& net = *evaluated.module();
            CHECK(net.head->bias.template data_ptr<float>()[0] ==
                  parameters[parameters.size() - 4]);
            CHECK(net.norm->running_mean.template data_ptr<float>()[0] ==
                  (whole.buffers[0][0] + whole.buffers[1][0]) * 0.5f);
        });
    });
}

TEST_CASE("a module begins with what was learnt before, its buffers too, whatever would draw") {
    const testing::scratch_folder folder("torch_begun");
    const auto file = folder.path() / "model.safetensors";
    const auto seen = torch_test::quarters(256, 1);
    const all_reduce strategy{plain_sgd};
    const auto draw = [](torch::nn::Module& net, random_stream) {
        for (at::Tensor& p : net.parameters()) p.fill_(0.0f);
    };
    run_in_process(2, [&](in_process& transport) {
        torch_model model{torch_test::convolving(), {.input = {1, 6, 6}}};
        trainer trainer{model, strategy, transport, {.batch_size = 8}};
        trainer.fit(seen, steps{12});
        save_model(trainer, file);
    });
    const saved_model learnt = load_model(file);
    CHECK(learnt.buffers.back() == 12.0f);  // num_batches_tracked
    run_in_process(2, [&](in_process& transport) {
        torch_model model{torch_test::convolving(), {.input = {1, 6, 6}, .draw = draw}};
        const auto kind = architecture_of(model).identity();
        model.load_parameters(learnt);
        CHECK(architecture_of(model).identity() == kind);
        trainer trainer{model, strategy, transport, {.batch_size = 8}};
        CHECK(std::ranges::equal(trainer.parameters(), learnt.parameters));
        CHECK(std::ranges::equal(model.buffers(), learnt.buffers));
        CHECK(model.module()->norm->num_batches_tracked.template item<std::int64_t>() == 12);
        trainer.fit(seen, steps{1});
        CHECK(model.buffers().back() == 13.0f);
        model.reset_buffers();
        CHECK(std::ranges::equal(model.buffers(), learnt.buffers));
    });
    for (const bool of_buffers : {false, true}) {
        CAPTURE(of_buffers);
        CHECK_THROWS_AS(
            run_in_process(2,
                           [&](in_process& transport) {
                               torch_model model{torch_test::convolving(), {.input = {1, 6, 6}}};
                               saved_model mine = learnt;
                               auto& values = of_buffers ? mine.buffers : mine.parameters;
                               if (transport.rank() == 1) values[0] += 1.0f;
                               model.load_parameters(mine);
                               const trainer trainer{model, strategy, transport};
                           }),
            mismatch);
    }
}

TEST_CASE("what a module cannot begin with changes nothing of it") {
    const auto net = torch_test::convolving();
    torch_model model{net, {.input = {1, 6, 6}}};
    saved_model own;
    own.kind = {model.layout(), model.buffer_layout(), {}};
    own.parameters.assign(static_cast<std::size_t>(model.layout().size()), 0.5f);
    own.buffers.assign(model.buffers().size(), 0.5f);
    const auto start = torch_test::start_of(model);
    const floats_of_net kept(model.buffers().begin(), model.buffers().end());
    const std::string before = sotto::detail::description{}.add("model", model).text();
    const auto unchanged = [&] {
        CHECK(std::ranges::equal(model.buffers(), kept));
        model.reset_buffers();
        CHECK(std::ranges::equal(model.buffers(), kept));
        CHECK(sotto::detail::description{}.add("model", model).text() == before);
    };
    saved_model other = own;
    other.kind.parameters = sotto::layout().add("conv.weight", {27});
    CHECK_THROWS_AS(model.load_parameters(other), mismatch);
    unchanged();
    other = own;
    other.kind.buffers = {};
    other.buffers.clear();
    CHECK_THROWS_AS(model.load_parameters(other), mismatch);
    unchanged();
    CHECK(torch_test::start_of(model) == start);
    net->head->bias.set_data(torch::ones({4}));
    CHECK_THROWS_AS(model.load_parameters(own), invalid_option);
    unchanged();
}

TEST_CASE("ranks whose parameters that do not learn differ are told so") {
    CHECK_THROWS_AS(
        run_in_process(2,
                       [](in_process& transport) {
                           const auto net = torch_test::convolving();
                           net->conv->weight.set_requires_grad(false);
                           if (transport.rank() == 1) net->conv->weight.mul_(2.0);
                           torch_model model{net, {.input = {1, 6, 6}}};
                           const trainer trainer{model, all_reduce{plain_sgd}, transport};
                       }),
        mismatch);
}
