#include "sotto/trainer/trainer.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>
#include <stdexcept>
#include <type_traits>
#include <vector>

#include "sotto/compressors/dgc.hpp"
#include "sotto/data/digits.hpp"
#include "sotto/losses/squared_error.hpp"
#include "sotto/strategies/gossip/mixing/asynchronous_pairs.hpp"
#include "sotto/models/mlp.hpp"
#include "sotto/models/sequential.hpp"
#include "sotto/nn/chain.hpp"
#include "sotto/nn/dense.hpp"
#include "sotto/nn/global_average_pool.hpp"
#include "sotto/nn/max_pool2d.hpp"
#include "sotto/optimizers/adamw.hpp"
#include "sotto/optimizers/momentum_sgd.hpp"
#include "sotto/optimizers/scheduled.hpp"
#include "sotto/strategies/all_reduce.hpp"
#include "sotto/strategies/gossip.hpp"
#include "sotto/trainer/early_stop.hpp"
#include "sotto/transports/run_in_process.hpp"
#include "support/numbers.hpp"
#include "support/snapshot.hpp"
#include "support/training.hpp"

using namespace sotto;
using testing::numbered, testing::number_model;

namespace {

/// Calls body(trainer, rank) on every rank.
void with_trainer(int world, const auto& strategy, auto body, training_options options = {}) {
    run_in_process(world, [&](in_process& transport) {
        number_model model;
        model.pull = 0.25f;
        trainer trainer{model, strategy, transport, options};
        body(trainer, transport.rank());
    });
}

/// Parameters depend on the model, so that an evaluation shows that it used the right ones.
struct weighing_model : number_model {
    double loss(std::span<const float> parameters, const batch_type& batch) {
        double sum = 0.0;
        for (const std::int64_t example : batch)
            sum += parameters[static_cast<std::size_t>(example) % parameters.size()] +
                   static_cast<double>(example);
        return sum / static_cast<double>(batch.size());
    }
};

/// Writes down what it reads.
struct listening_model : number_model {
    std::vector<std::int64_t>* heard = nullptr;

    double gradient(std::span<const float> parameters, const batch_type& batch,
                    std::span<float> out, auto&& on_ready) {
        heard->insert(heard->end(), batch.begin(), batch.end());
        return number_model::gradient(parameters, batch, out, on_ready);
    }
};

/// Every rank learns alone. The last one serves: it has no data and no rounds, and finishes when it
/// is told that all others have.
struct alone_with_a_server {
    static constexpr bool synchronous = false;

    struct state {
        transport_ref through;
        std::vector<float> gradient{};
        int finished = 0;

        bool serves() const { return through.rank() == through.size() - 1; }
        detail::data::share share() const {
            if (serves()) return {0, 0};
            return {through.rank(), through.size() - 1};
        }
        std::int64_t start_group() const { return through.rank(); }
        detail::epoch_agreement begin_epoch(const detail::epoch_plan& plan) {
            return {(plan.examples + plan.batch_size - 1) / plan.batch_size, plan.stop != 0};
        }
        template <class Model>
        round_report round(detail::round_input<Model>& job, std::span<float> parameters) {
            gradient.resize(parameters.size());
            return {.loss = job.model.gradient(parameters, job.batch, std::span(gradient),
                                               [](const tensor&) {}),
                    .examples = job.examples};
        }
        void finish(std::span<float> parameters) {
            CHECK(static_cast<std::int64_t>(parameters.size()) == number_model().layout().size());
            ++finished;
            if (!serves()) {
                through.wait(through.send(through.size() - 1, {16, 0, 0}, {}));
                return;
            }
            for (int rank = 0; rank < through.size() - 1; ++rank)
                through.wait(through.receive(any_rank, {16, 0, 0}, {}));
        }
    };
    state bind(const layout&, transport_ref through) const { return {through}; }
};

template <class T>
concept copies = std::is_copy_constructible_v<T> || std::is_copy_assignable_v<T>;

}  // namespace

TEST_CASE("two calls of fit for one epoch each are one call for two, bit for bit") {
    const auto check = [](const auto& strategy) {
        for (const int world : {1, 3}) {
            std::vector<float> once, twice;
            testing::snapshot state_once, state_twice;
            const training_options options{.batch_size = 4, .seed = 3};
            const auto keep = [](auto& trainer, auto& parameters, auto& state) {
                parameters.assign(trainer.parameters().begin(), trainer.parameters().end());
                state = testing::snapshot(trainer.state());
            };
            with_trainer(
                world, strategy,
                [&](auto& trainer, int rank) {
                    trainer.fit(numbered{50}, epochs{2});
                    if (rank == 0) keep(trainer, once, state_once);
                },
                options);
            with_trainer(
                world, strategy,
                [&](auto& trainer, int rank) {
                    trainer.fit(numbered{50}, epochs{1});
                    const auto report = trainer.fit(numbered{50}, epochs{1});
                    CHECK(report.epochs == 1);
                    CHECK(trainer.step() == 2 * report.steps);
                    if (rank == 0) keep(trainer, twice, state_twice);
                },
                options);
            CHECK(once == twice);
            CHECK(state_once == state_twice);
        }
    };
    check(all_reduce{momentum_sgd{.learning_rate = 0.05}});
    check(all_reduce{scheduled{adamw{}, cosine{.epochs = 3}}});
    check(all_reduce{sgd{.learning_rate = 0.05}, dgc{.density = 0.1, .warm_up_epochs = 2}});
}

TEST_CASE("steps run across epochs and end in the middle of one") {
    with_trainer(1, all_reduce{},
                 [](auto& trainer, int) {
                     std::vector<std::int64_t> epochs_seen, steps_seen;
                     const auto on_epoch = [&](const epoch_report& report) {
                         epochs_seen.push_back(report.epoch);
                         CHECK(report.step == static_cast<std::int64_t>(steps_seen.size()));
                     };
                     const auto on_step = [&](const step_report& report) {
                         steps_seen.push_back(report.step);
                     };
                     const auto report =
                         trainer.fit(numbered{20}, steps{12}, on_step, on_epoch);  // 5 an epoch
                     CHECK(report.steps == 12);
                     CHECK(report.step == 12);
                     CHECK(report.epochs == 2);  // and two steps of a third
                     CHECK_FALSE(report.stopped_early);
                     CHECK(epochs_seen == std::vector<std::int64_t>{1, 2, 3});
                     REQUIRE(steps_seen.size() == 12);
                     for (std::size_t i = 0; i < 12; ++i)
                         CHECK(steps_seen[i] == static_cast<std::int64_t>(i) + 1);
                     CHECK(trainer.step() == 12);
                     CHECK(trainer.fit(numbered{20}, steps{0}).steps == 0);
                     CHECK(trainer.fit(numbered{20}, steps{0}).step == 12);
                     CHECK(trainer.fit(numbered{20}, epochs{0}).epochs == 0);
                 },
                 {.batch_size = 4});
}

TEST_CASE("a call that ends inside an epoch is resumed there: 3 steps and 4 are 7, bit for bit") {
    struct run {
        std::vector<float> parameters;
        testing::snapshot remembered;
        std::vector<double> epochs;
        std::vector<std::int64_t> read;
    };
    const auto trained = [](int world, const auto& strategy,
                            std::vector<detail::training_length> calls) {
        std::vector<run> left(static_cast<std::size_t>(world));
        run_in_process(world, [&](in_process& transport) {
            run& mine = left[static_cast<std::size_t>(transport.rank())];
            listening_model model;
            model.pull = 0.25f;
            model.heard = &mine.read;
            trainer trainer{model, strategy, transport, {.batch_size = 4, .seed = 3}};
            const numbered data{world == 1 ? 18 : 50};  // 5 steps an epoch, the last one shorter
            for (const detail::training_length& call : calls)
                trainer.fit(data, call,
                            [&](const step_report& step) { mine.epochs.push_back(step.epoch); });
            mine.parameters.assign(trainer.parameters().begin(), trainer.parameters().end());
            mine.remembered = testing::snapshot(trainer.state());
        });
        return left;
    };
    const auto check = [&](const auto& strategy) {
        for (const int world : {1, 3}) {
            const auto once = trained(world, strategy, {steps{7}});
            for (const auto& calls : std::vector<std::vector<detail::training_length>>{
                     {steps{3}, steps{4}},
                     {steps{5}, steps{2}},
                     {steps{2}, steps{0}, steps{1}, steps{3}, steps{1}},
                     {steps{3}, epochs{1}, steps{2}}}) {
                const auto parts = trained(world, strategy, calls);
                for (std::size_t rank = 0; rank < once.size(); ++rank) {
                    CHECK(parts[rank].read == once[rank].read);
                    CHECK(parts[rank].epochs == once[rank].epochs);
                    CHECK(parts[rank].parameters == once[rank].parameters);
                    CHECK(parts[rank].remembered == once[rank].remembered);
                }
            }
        }
    };
    check(all_reduce{momentum_sgd{.learning_rate = 0.05}});
    check(all_reduce{scheduled{adamw{}, cosine{.epochs = 3}}});
    check(all_reduce{sgd{.learning_rate = 0.05}, dgc{.density = 0.1, .warm_up_epochs = 2}});
}

TEST_CASE("a resumed epoch is reported in two parts, and counts for the call that completes it") {
    with_trainer(2, all_reduce{},
                 [](auto& trainer, int) {
                     std::vector<epoch_report> parts;
                     run_info first;
                     struct {
                         std::vector<epoch_report>* reports;
                         run_info* info;
                         void on_begin(const run_info& known) { *info = known; }
                         void on_epoch(const epoch_report& report) { reports->push_back(report); }
                     } keep{&parts, &first};
                     const numbered data{40}, unseen{4};  // 5 steps an epoch
                     CHECK(trainer.fit(data, steps{3}, keep, evaluate_on{unseen}).epochs == 0);
                     CHECK(trainer.fit(data, epochs{1}, keep).epochs == 1);
                     CHECK(first.epochs_before == 0);
                     CHECK(first.rounds_before == 3);
                     CHECK(first.steps_before == 3);
                     trainer.fit(data, epochs{1}, keep);
                     CHECK(first.epochs_before == 1);
                     CHECK(first.rounds_before == 0);
                     REQUIRE(parts.size() == 3);
                     CHECK((parts[0].epoch == 1 && !parts[0].complete && parts[0].examples == 24));
                     CHECK(parts[0].evaluated.has_value());
                     CHECK(parts[1].total.examples == 8);  // of this rank, in this call
                     CHECK((parts[1].epoch == 1 && parts[1].complete && parts[1].examples == 40));
                     CHECK((parts[2].epoch == 2 && parts[2].complete && parts[2].examples == 40));
                 },
                 {.batch_size = 4});
}

TEST_CASE("other data than those of the epoch that was left begin a new one, on all ranks") {
    const auto position = [](auto again) {
        std::vector<double> at(2);
        with_trainer(2, all_reduce{},
                     [&](auto& trainer, int rank) {
                         trainer.fit(local_data{numbered{20}}, steps{3});  // of 5
                         again(trainer, rank, [&](const step_report& step) {
                             at[static_cast<std::size_t>(rank)] = step.epoch;
                         });
                     },
                     {.batch_size = 4});
        CHECK(at[0] == at[1]);
        return at[0];
    };
    CHECK(position([](auto& trainer, int, auto keep) {
              trainer.fit(local_data{numbered{20}}, steps{1}, keep);
          }) == 0.6);
    CHECK(position([](auto& trainer, int rank, auto keep) {
              trainer.fit(local_data{numbered{rank == 1 ? 21 : 20}}, steps{1}, keep);
          }) == 1.0);
    CHECK(position([](auto& trainer, int, auto keep) {
              trainer.fit(numbered{20}, steps{1}, keep);
          }) == 1.0);
}

TEST_CASE("a round that fails leaves the place in the epoch where it was") {
    with_trainer(1, all_reduce{},
                 [](auto& trainer, int) {
                     int left = 3;
                     numbered data{20};
                     data.on_gather = [&] {
                         if (left-- == 0) throw std::runtime_error("no more");
                     };
                     CHECK_THROWS_AS(trainer.fit(data, epochs{2}), std::runtime_error);
                     CHECK(trainer.step() == 3);
                     std::vector<double> at;
                     trainer.fit(data, steps{3},
                                 [&](const step_report& r) { at.push_back(r.epoch); });
                     CHECK(at == std::vector<double>{0.6, 0.8, 1.0});
                 },
                 {.batch_size = 4});
}

TEST_CASE("a step report says how many passes over the data were completed") {
    with_trainer(1, all_reduce{},
                 [](auto& trainer, int) {
                     std::vector<double> at;
                     trainer.fit(numbered{20}, steps{7},
                                 [&](const step_report& r) { at.push_back(r.epoch); });
                     CHECK(at == std::vector<double>{0.0, 0.2, 0.4, 0.6, 0.8, 1.0, 1.2});
                 },
                 {.batch_size = 4});
}

TEST_CASE("an epoch's loss is the mean over the examples of all ranks") {
    for (const int world : {1, 2, 3, 5})
        with_trainer(world, all_reduce{},
                     [&](auto& trainer, int) {
                         std::int64_t examples = 0;
                         const auto count = [&](const epoch_report& report) {
                             examples = report.examples;
                         };
                         const auto report = trainer.fit(numbered{37}, epochs{1}, count);
                         CHECK(report.loss == doctest::Approx(18.0));  // the mean of 0..36
                         CHECK(examples == 37);
                     },
                     {.batch_size = 4});
}

TEST_CASE("an evaluation counts every example once, whatever the number of ranks") {
    const auto measured = [](int world, std::int64_t size) {
        std::vector<evaluation> found(static_cast<std::size_t>(world));
        run_in_process(world, [&](in_process& transport) {
            weighing_model model;
            trainer trainer{model, all_reduce{}, transport, {.batch_size = 4}};
            found[static_cast<std::size_t>(transport.rank())] = trainer.evaluate(numbered{size});
        });
        for (const evaluation& e : found) {
            CHECK(e.loss == found[0].loss);
            CHECK(e.examples == found[0].examples);
        }
        return found[0];
    };
    for (const std::int64_t size : {0, 1, 3, 4, 23, 100}) {
        const evaluation alone = measured(1, size);
        CHECK(alone.examples == size);
        for (const int world : {2, 3, 5, 8}) {
            const evaluation shared = measured(world, size);
            CHECK(shared.examples == size);
            CHECK(shared.loss == doctest::Approx(alone.loss).epsilon(1e-12));
        }
    }
}

TEST_CASE("accuracy is the share of examples whose largest logit is the label") {
    const auto digits = data::digits(53, random_stream{4});
    models::mlp model{784, 16, 10};
    std::vector<float> parameters(static_cast<std::size_t>(model.layout().size()));
    model.initialise(parameters, random_stream{0}.split("parameters"));
    std::vector<std::int64_t> all(53);
    for (std::size_t i = 0; i < all.size(); ++i) all[i] = static_cast<std::int64_t>(i);
    data::labelled_batch batch;
    digits.gather(all, batch);
    const auto logits = model.predict(parameters, batch);
    int correct = 0;
    for (std::size_t i = 0; i < all.size(); ++i) {
        const auto row = logits.subspan(10 * i, 10);
        correct += std::ranges::max_element(row) - row.begin() == batch.labels()[i];
    }
    for (const int world : {1, 3})
        run_in_process(world, [&](in_process& transport) {
            models::mlp own{784, 16, 10};
            trainer trainer{own, all_reduce{}, transport, {.batch_size = 10}};
            const evaluation found = trainer.evaluate(digits);
            CHECK(found.accuracy == doctest::Approx(correct / 53.0).epsilon(1e-12));
            CHECK(found.loss ==
                  doctest::Approx(cross_entropy{}.value(logits, batch.labels())).epsilon(1e-6));
        });
}

TEST_CASE("evaluations come every so many epochs and after the last, also one that ends early") {
    const numbered data{20}, unseen{7};
    const auto evaluated = [&](std::int64_t every, std::int64_t stop_after) {
        std::vector<std::int64_t> at;
        fit_report whole;
        with_trainer(2, all_reduce{}, [&](auto& trainer, int rank) {
            const auto look = [&](const epoch_report& report) {
                if (rank == 0 && report.evaluated) at.push_back(report.epoch);
                return report.epoch == stop_after ? fit_control::stop : fit_control::keep_going;
            };
            const auto report = trainer.fit(data, epochs{5}, evaluate_on{unseen, every}, look);
            if (rank == 0) whole = report;
        });
        CHECK(whole.evaluated.has_value());
        CHECK(whole.evaluated->examples == 7);
        return at;
    };
    using list = std::vector<std::int64_t>;
    CHECK(evaluated(1, 9) == list{1, 2, 3, 4, 5});
    CHECK(evaluated(2, 9) == list{2, 4, 5});
    CHECK(evaluated(10, 9) == list{5});
    CHECK(evaluated(2, 2) == list{2});
    CHECK(evaluated(10, 2).empty());  // after its report, but in the report of the whole
}

TEST_CASE("an evaluation's loss is the model's own: squared error where it learns by that") {
    const auto digits = data::digits(31, random_stream{4});
    std::vector<std::int64_t> all(31);
    for (std::size_t i = 0; i < all.size(); ++i) all[i] = static_cast<std::int64_t>(i);
    data::labelled_batch batch;
    digits.gather(all, batch);
    const auto losses = [&](auto model) {
        std::vector<float> parameters(static_cast<std::size_t>(model.layout().size()));
        model.initialise(parameters, random_stream{0}.split("parameters"));
        const auto logits = model.predict(parameters, batch);
        const double own = model.loss().value(logits, batch.labels());
        const double other = cross_entropy{}.value(logits, batch.labels());
        evaluation found;
        run_in_process(1, [&](in_process& transport) {
            trainer trainer{model, all_reduce{}, transport, {.batch_size = 10}};
            found = trainer.evaluate(digits);
        });
        CHECK(found.loss == doctest::Approx(own).epsilon(1e-6));
        CHECK(std::abs(found.loss - other) > 0.01);
        CHECK(found.accuracy >= 0.0);
    };
    losses(models::mlp<squared_error>{{784, 16, 10}, squared_error{}});
    losses(models::mlp<>{{784, 16, 10}, cross_entropy{.label_smoothing = 0.5}});
}

TEST_CASE("a model's own loss(parameters, batch) goes before the loss it learns by") {
    struct opinionated : models::mlp<> {
        using mlp::mlp;
        double loss(std::span<const float>, const data::labelled_batch& batch) {
            return static_cast<double>(batch.size());
        }
    } model({784, 10});
    const auto digits = data::digits(20, random_stream{4});
    run_in_process(1, [&](in_process& transport) {
        trainer trainer{model, all_reduce{}, transport, {.batch_size = 10}};
        const evaluation found = trainer.evaluate(digits);
        CHECK(found.loss == 10.0);
        CHECK(found.accuracy > 0.0);
    });
}

TEST_CASE("ranks whose models are alike in all tensors but not in their options are refused") {
    const auto refused = [](auto model_of, const char* difference) {
        CHECK_THROWS_WITH_AS(run_in_process(2,
                                            [&](in_process& transport) {
                                                auto model = model_of(transport.rank());
                                                trainer trainer{model, all_reduce{}, transport};
                                            }),
                             doctest::Contains(difference), mismatch);
    };
    refused(
        [](int rank) {
            return models::mlp<>{{784, 10},
                                 cross_entropy{.label_smoothing = rank == 1 ? 0.3 : 0.0}};
        },
        "'model.loss.label_smoothing = 0.3' where rank 0 has 'model.loss.label_smoothing = 0'");
    refused(
        [](int rank) {
            return models::sequential{
                nn::shape{1, 8, 8}, nn::chain{nn::max_pool2d{.stride = rank == 1 ? 1 : 2},
                                              nn::global_average_pool{}, nn::dense{.outputs = 2}}};
        },
        "'model.layers.1.stride = 1' where rank 0 has 'model.layers.1.stride = 2'");
}

TEST_CASE("a rank without data goes straight to finish, and serves until the others have") {
    constexpr int world = 3;
    std::vector<fit_report> reports(world);
    std::vector<std::vector<float>> starts(world);
    run_in_process(world, [&](in_process& transport) {
        const auto rank = static_cast<std::size_t>(transport.rank());
        number_model model;
        trainer trainer{model, alone_with_a_server{}, transport, {.batch_size = 4}};
        starts[rank].assign(trainer.parameters().begin(), trainer.parameters().end());
        const numbered data{20}, unseen{3};
        for (const detail::training_length length :
             {detail::training_length(steps{7}), detail::training_length(epochs{2})})
            reports[rank] = trainer.fit(data, length, evaluate_on{unseen});
        CHECK(trainer.state().finished == 2);
        CHECK(trainer.fit(local_data{data}, steps{1}).steps == (rank == 2 ? 0 : 1));
    });
    CHECK(reports[0].total.examples + reports[1].total.examples == 32);  // 4 of 20 read before
    CHECK(reports[2].steps == 0);
    CHECK(reports[2].evaluated.has_value());
    CHECK_FALSE(reports[2].stopped_early);
    // Each is a start group of its own; group 0 is what all ranks of one group would have.
    CHECK_FALSE(starts[0] == starts[1]);
    CHECK_FALSE(starts[1] == starts[2]);
    with_trainer(2, all_reduce{}, [&](auto& trainer, int) {
        CHECK(std::ranges::equal(trainer.parameters(), starts[0]));
    });
}

TEST_CASE("the mean of all ranks is to be had after fit, of strategies not in step too") {
    std::vector<std::vector<float>> own(3), means(3);
    std::vector<evaluation> of_mean(3);
    const numbered unseen{7};
    const auto run = [&](const auto& strategy) {
        with_trainer(3, strategy, [&](auto& trainer, int rank) {
            trainer.fit(numbered{48}, epochs{2});
            const auto r = static_cast<std::size_t>(rank);
            own[r].assign(trainer.parameters().begin(), trainer.parameters().end());
            means[r].assign(trainer.mean_parameters().begin(), trainer.mean_parameters().end());
            of_mean[r] = trainer.evaluate_mean(unseen);
            if constexpr (detail::conducting::in_step<std::remove_cvref_t<decltype(strategy)>>)
                CHECK(trainer.evaluate(unseen).loss == of_mean[r].loss);
        });
        for (std::size_t r = 0; r < 3; ++r) {
            CHECK(means[r] == means[0]);
            CHECK(of_mean[r].loss == of_mean[0].loss);
            CHECK(of_mean[r].examples == 7);
        }
        for (std::size_t i = 0; i < means[0].size(); ++i)
            CHECK(means[0][i] == doctest::Approx((own[0][i] + own[1][i] + own[2][i]) / 3.0f));
    };
    run(all_reduce{sgd{}});
    CHECK(own[0] == means[0]);
    run(gossip{sgd{}, topologies::ring{}});
    CHECK(own[0] != means[0]);
    run(gossip{sgd{}, topologies::ring{}, no_control{}, none{}, mixing::asynchronous_pairs{}});
}

TEST_CASE("every rank starts from rank 0's parameters, which the seed alone decides") {
    const auto start = [](int world, std::uint64_t seed) {
        std::vector<float> first;
        with_trainer(world, all_reduce{},
                     [&](auto& trainer, int rank) {
                         const std::vector<float> own(trainer.parameters().begin(),
                                                      trainer.parameters().end());
                         if (rank == 0) first = own;
                     },
                     {.seed = seed});
        return first;
    };
    CHECK(start(1, 5) == start(4, 5));
    CHECK_FALSE(start(1, 5) == start(1, 6));
    run_in_process(3, [&](in_process& transport) {
        struct stubborn : number_model {
            float value = 0.0f;
            void initialise(std::span<float> parameters, random_stream) const {
                std::ranges::fill(parameters, value);
            }
        } model;
        model.value = static_cast<float>(transport.rank() + 1);
        trainer trainer{model, all_reduce{}, transport};
        CHECK(std::ranges::all_of(trainer.parameters(), [](float w) { return w == 1.0f; }));
    });
}

TEST_CASE("reports of bytes and examples add up from steps to epochs to the whole") {
    with_trainer(
        3, all_reduce{sgd{}, dgc{.density = 0.1}},
        [](auto& trainer, int) {
            round_report steps_sum, epochs_sum;
            std::int64_t tensors_sum = 0;
            const auto on_step = [&](const step_report& step) {
                accumulate(steps_sum, step.round);
                REQUIRE(step.round.tensor_message_bytes.size() == 4);
                for (const std::int64_t bytes : step.round.tensor_message_bytes)
                    tensors_sum += bytes;
            };
            const auto on_epoch = [&](const epoch_report& epoch) {
                accumulate(epochs_sum, epoch.total);
            };
            const auto whole = trainer.fit(numbered{50}, epochs{2}, on_step, on_epoch).total;
            for (const round_report* sum : {&steps_sum, &epochs_sum}) {
                CHECK(sum->examples == whole.examples);
                CHECK(sum->message_bytes == whole.message_bytes);
                CHECK(sum->dense_bytes == whole.dense_bytes);
                CHECK(sum->bytes_sent == whole.bytes_sent);
                CHECK(sum->bytes_received == whole.bytes_received);
                CHECK(sum->compute == whole.compute);
                CHECK(sum->loss == doctest::Approx(whole.loss));
            }
            CHECK(tensors_sum == whole.message_bytes);
            CHECK(whole.dense_bytes == 10 * 4 * trainer.tensors().size());  // 17 examples, 5 steps
            CHECK(whole.message_bytes < whole.dense_bytes / 2);
            CHECK(whole.bytes_sent > whole.message_bytes);
        },
        {.batch_size = 4});
}

TEST_CASE("callbacks are told the beginning, each step, each epoch and the end, in this order") {
    struct diary {
        std::vector<char> events;
        run_info first;
        void on_begin(const run_info& info) { first = info, events.push_back('b'); }
        void on_step(const step_report&) { events.push_back('s'); }
        void on_epoch(const epoch_report&) { events.push_back('e'); }
        void on_end(const fit_report&) { events.push_back('x'); }
    };
    with_trainer(2, all_reduce{},
                 [](auto& trainer, int rank) {
                     diary own;
                     trainer.fit(numbered{12}, epochs{2}, own);
                     CHECK(own.events == std::vector<char>{'b', 's', 's', 'e', 's', 's', 'e', 'x'});
                     CHECK(own.first.rank == rank);
                     CHECK(own.first.world_size == 2);
                     CHECK(own.first.epochs == 2);
                     CHECK(own.first.examples == 6);
                     CHECK(own.first.steps_an_epoch == 2);
                     CHECK(own.first.epochs_before == 0);
                     CHECK(own.first.parameters->size() == trainer.tensors().size());
                     CHECK(own.first.description == trainer.description());
                     trainer.fit(numbered{12}, epochs{1}, own);
                     CHECK(own.first.epochs_before == 2);
                     CHECK(own.first.steps_before == 4);
                 },
                 {.batch_size = 4});
}

TEST_CASE("early_stop waits for its patience and forgets it at every improvement") {
    const auto epochs_of = [](early_stop stop, const std::vector<double>& losses) {
        std::size_t done = 0;
        for (const double loss : losses) {
            ++done;
            if (stop.on_epoch({.loss = loss}) == fit_control::stop) break;
        }
        return done;
    };
    using options = early_stop::options;
    CHECK(epochs_of(early_stop(options{.patience = 2}), {3, 2, 2, 2, 1}) == 4);
    CHECK(epochs_of(early_stop(options{.patience = 2}), {3, 3, 2, 2, 1, 1, 1}) == 7);
    CHECK(epochs_of(early_stop(options{.patience = 1}), {1, 2}) == 2);
    CHECK(epochs_of(early_stop{}, {1, 1, 1, 1, 0}) == 4);
    CHECK(epochs_of(early_stop(options{.patience = 1, .least_improvement = 0.5}), {3, 2, 1.6, 1}) ==
          3);
    // An evaluation counts before the training loss.
    early_stop stop(options{.patience = 1});
    CHECK(stop.on_epoch({.loss = 1, .evaluated = evaluation{.loss = 5}}) ==
          fit_control::keep_going);
    CHECK(stop.on_epoch({.loss = 9, .evaluated = evaluation{.loss = 4}}) ==
          fit_control::keep_going);
    CHECK(stop.on_epoch({.loss = 0, .evaluated = evaluation{.loss = 4}}) == fit_control::stop);
    // From the first evaluation on, epochs without one are not judged.
    early_stop every_other(options{.patience = 2});
    CHECK(every_other.on_epoch({.loss = 0.1}) == fit_control::keep_going);
    for (const double better : {5.0, 4.0, 3.0, 2.0}) {
        CHECK(every_other.on_epoch({.loss = 9, .evaluated = evaluation{.loss = better}}) ==
              fit_control::keep_going);
        CHECK(every_other.on_epoch({.loss = 0}) == fit_control::keep_going);
    }
    CHECK(every_other.on_epoch({.loss = 0, .evaluated = evaluation{.loss = 6}}) ==
          fit_control::keep_going);
    CHECK(every_other.on_epoch({.loss = -1}) == fit_control::keep_going);
    CHECK(every_other.on_epoch({.loss = 0, .evaluated = evaluation{.loss = 7}}) ==
          fit_control::stop);
    // Another call of fit is judged by itself.
    stop.on_begin({});
    CHECK(stop.on_epoch({.loss = 100}) == fit_control::keep_going);
    CHECK(stop.on_epoch({.loss = 100}) == fit_control::stop);
    // What never was a number never improves.
    CHECK(epochs_of(early_stop(options{.patience = 2}), {std::nan(""), std::nan("")}) == 2);
}

TEST_CASE("a batch larger than the data takes memory for the data") {
    run_in_process(2, [](in_process& transport) {
        number_model model;
        trainer trainer{model, all_reduce{}, transport, {.batch_size = std::int64_t{1} << 60}};
        trainer.fit(numbered{10}, epochs{1}, evaluate_on{numbered{7}});
        CHECK(trainer.step() == 1);
        CHECK(trainer.evaluate(numbered{7}).examples == 7);
    });
}

TEST_CASE("options that cannot work are refused by name and value") {
    const auto refused = [](auto body, const char* sentence) {
        CHECK_THROWS_WITH_AS(run_in_process(2, body), sentence, invalid_option);
    };
    refused(
        [](in_process& transport) {
            number_model model;
            trainer{model, all_reduce{}, transport, {.batch_size = 0}};
        },
        "trainer: batch_size is 0; it must be at least 1");
    const auto fitting = [&](auto fit) {
        return [=](in_process& transport) {
            number_model model;
            trainer trainer{model, all_reduce{}, transport};
            fit(trainer);
        };
    };
    const numbered data{10};
    refused(fitting([&](auto& trainer) { trainer.fit(data, epochs{-1}); }),
            "fit: asked for -1 epochs; expected at least 0");
    refused(fitting([&](auto& trainer) { trainer.fit(data, steps{-7}); }),
            "fit: asked for -7 steps; expected at least 0");
    refused(fitting([&](auto& trainer) {
                trainer.fit(data, epochs{1}, evaluate_on{data, 0});
            }),
            "evaluate_on: every is 0; it must be at least 1");
    refused(fitting([&](auto& trainer) { trainer.fit(numbered{0}, epochs{1}); }),
            "fit: no rank has any examples to train on");
    CHECK_THROWS_WITH_AS(early_stop(early_stop::options{.patience = 0}),
                         "early_stop: patience is 0; it must be at least 1", invalid_option);
    CHECK_THROWS_WITH_AS(early_stop(early_stop::options{.least_improvement = -1.0}),
                         "early_stop: least_improvement is -1; it must be finite and at least 0",
                         invalid_option);
}

TEST_CASE("a trainer is not copied: its strategy's messages are under way at its address") {
    static_assert(!copies<trainer<number_model, all_reduce<>, in_process>>);
}
