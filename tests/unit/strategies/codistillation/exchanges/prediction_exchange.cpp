#include "sotto/strategies/codistillation/exchanges/prediction_exchange.hpp"

#include <doctest/doctest.h>

#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <type_traits>
#include <vector>

#include "sotto/checkpoint/detail/generations.hpp"
#include "sotto/core/errors.hpp"
#include "sotto/core/layout.hpp"
#include "sotto/core/random.hpp"
#include "sotto/data/digits.hpp"
#include "sotto/distillation/forward_kl.hpp"
#include "sotto/models/mlp.hpp"
#include "sotto/optimizers/sgd.hpp"
#include "sotto/strategies/all_reduce.hpp"
#include "sotto/strategies/codistillation.hpp"
#include "sotto/trainer/trainer.hpp"
#include "sotto/trainer/checkpoints.hpp"
#include "sotto/transports/run_in_process.hpp"
#include "support/folders.hpp"

using namespace sotto;

namespace {

const all_reduce<sgd> inner{sgd{.learning_rate = 0.1}};
const auto examples = data::digits(240, random_stream{3});

struct left {
    std::vector<float> start, parameters;
    std::vector<double> losses;
    std::vector<detail::taught_report> taught;
};

std::vector<left> train(int ranks, codistillation_groups groups, double weight = 1.0,
                        std::int64_t count = 12) {
    std::vector<left> all(static_cast<std::size_t>(ranks));
    run_in_process(ranks, [&](auto& transport) {
        models::mlp model{784, 12, 10};
        trainer trainer{model,
                        codistillation{inner, forward_kl{}, prediction_exchange{}, groups,
                                       constant_weight{weight}},
                        transport,
                        {.batch_size = 10, .seed = 5}};
        left& mine = all[static_cast<std::size_t>(transport.rank())];
        mine.start.assign(trainer.parameters().begin(), trainer.parameters().end());
        trainer.fit(examples, steps{count}, [&](const step_report& step) {
            mine.losses.push_back(step.round.loss);
            mine.taught.push_back(step.round.taught);
        });
        mine.parameters.assign(trainer.parameters().begin(), trainer.parameters().end());
    });
    return all;
}

/// One rank that has a whole model in every group, trained with the others by hand.
std::vector<std::vector<float>> by_hand(const std::vector<left>& found, int count, double weight,
                                        std::int64_t steps) {
    models::mlp model{784, 12, 10};
    detail::data::sampler sampler(240, {0, 1}, 10, random_stream(5).split("order"));
    std::vector<std::vector<float>> models;
    for (int group = 0; group < count; ++group)
        models.push_back(found[static_cast<std::size_t>(group)].start);
    std::remove_cvref_t<decltype(model)>::batch_type batch;
    for (std::int64_t step = 0; step < steps; ++step) {
        sampler.begin_epoch(step / 24);
        examples.gather(sampler.batch(step % 24), batch);
        std::vector<std::vector<float>> said, next = models;
        for (const auto& parameters : models) {
            const auto logits = model.forward(parameters, batch);
            said.emplace_back(logits.begin(), logits.end());
        }
        for (std::size_t own = 0; own < models.size(); ++own) {
            std::vector<float> targets(said[own].size()), out(said[own].size()),
                gradient(models[own].size());
            for (std::size_t other = 0; other < models.size(); ++other)
                if (other != own) forward_kl{}.add(said[other], 10, 1.0, targets);
            if (count > 2)
                for (float& target : targets) target /= static_cast<float>(count - 1);
            (void)model.forward(models[own], batch);
            cross_entropy{}.gradient(said[own], batch.labels(), out);
            forward_kl{}.gradient(said[own], 10, targets, weight, out);
            model.backward(models[own], batch, out, gradient, [](const tensor&) {});
            for (std::size_t i = 0; i < gradient.size(); ++i) next[own][i] -= 0.1f * gradient[i];
        }
        models = next;
    }
    return models;
}

}  // namespace

TEST_CASE("each model learns by what the others say of the same batch at the same moment") {
    for (const int count : {2, 3}) {
        const auto found = train(count, {.count = count}, 0.5);
        const auto expected = by_hand(found, count, 0.5, 12);
        for (std::size_t group = 0; group < found.size(); ++group) {
            double apart = 0.0, moved = 0.0;
            for (std::size_t i = 0; i < expected[group].size(); ++i) {
                apart += std::pow(found[group].parameters[i] - expected[group][i], 2);
                moved += std::pow(found[group].parameters[i] - found[group].start[i], 2);
            }
            CHECK(moved > 0.01);
            CHECK(std::sqrt(apart) < 1e-5 * std::sqrt(moved));
        }
        CHECK(found[0].start != found[1].start);
    }
}

TEST_CASE("every round sends b c logits to each student, and the groups stay in step inside") {
    const auto found = train(4, {});
    CHECK(found[0].parameters == found[1].parameters);
    CHECK(found[2].parameters == found[3].parameters);
    CHECK(found[0].parameters != found[2].parameters);
    for (const left& rank : found)
        for (const detail::taught_report& round : rank.taught) {
            CHECK(round.teachers == 1);
            CHECK(round.age == 0);
            CHECK(round.bytes_sent == 8 + 4 * 10 * 10);
            CHECK(round.distillation_loss > 0.0);
        }
    const auto ring =
        train(3, {.count = 3, .every = 4, .lessons = codistillation_groups::lessons_from::ring});
    for (const left& rank : ring)
        for (const detail::taught_report& round : rank.taught) CHECK(round.teachers == 1);
    const auto three = train(3, {.count = 3});
    for (const left& rank : three)
        for (const detail::taught_report& round : rank.taught) {
            CHECK(round.teachers == 2);
            CHECK(round.bytes_sent == 2 * (8 + 4 * 10 * 10));
        }
}

TEST_CASE("in the burn-in nobody asks, and with one group nobody could") {
    const auto found = train(2, {.burn_in = 8});
    for (std::size_t step = 0; step < 12; ++step) {
        CHECK(found[0].taught[step].teachers == (step < 8 ? 0 : 1));
        CHECK(found[0].taught[step].bytes_sent == (step < 8 ? 0 : 408));
    }
    const auto alone = train(2, {.count = 1});
    CHECK(alone[0].parameters == alone[1].parameters);
    CHECK(alone[0].taught[11].teachers == 0);
}

/// Four ranks in two groups go on from what is in a folder: `use(trainer, rank, what was found)`.
template <class Use>
void resumed(const testing::scratch_folder& folder, Use use) {
    run_in_process(4, [&](auto& transport) {
        models::mlp model{784, 12, 10};
        trainer trainer{model,
                        codistillation{inner, forward_kl{}, prediction_exchange{}},
                        transport,
                        {.batch_size = 10, .seed = 5}};
        use(trainer, transport.rank(), trainer.try_resume(folder.path(), {.on_damage = nullptr}));
    });
}

TEST_CASE("each model has checkpoints of its own, and all go on from them with the same bits") {
    const testing::scratch_folder folder("codistillation_checkpoints");
    const auto whole = train(4, {}, 1.0, 12);
    std::vector<std::vector<float>> ends(4);
    for (const bool again : {false, true})
        resumed(folder, [&](auto& trainer, int rank, const resume_report& found) {
            CHECK(found.found == again);
            CHECK(trainer.step() == (again ? 7 : 0));
            if (!again) {
                // Ends after 7 steps, as if it had failed.
                CHECK_THROWS_AS(
                    trainer.fit(examples, steps{12}, checkpoints{folder.path(), {.every_steps = 7}},
                                [](const step_report& step) {
                                    if (step.step == 8) throw io_failure("it ends");
                                }),
                    error);
                return;
            }
            trainer.fit(examples, steps{12}, checkpoints{folder.path(), {.every_steps = 7}});
            ends[static_cast<std::size_t>(rank)].assign(trainer.parameters().begin(),
                                                        trainer.parameters().end());
        });
    for (std::size_t rank = 0; rank < 4; ++rank) CHECK(ends[rank] == whole[rank].parameters);
    for (const char* group : {"group-0", "group-1"})
        CHECK(std::filesystem::is_directory(folder.path() / group));
}

TEST_CASE("groups that were not saved alike go on from the newest step that all of them have") {
    const testing::scratch_folder folder("predictions_torn");
    resumed(folder, [&](auto& trainer, int, const resume_report&) {
        trainer.fit(examples, steps{8}, checkpoints{folder.path(), {.every_steps = 4}});
    });
    std::filesystem::remove(folder.path() / "group-1" / detail::checkpoint::file_name(8));
    std::array<std::vector<float>, 4> ends;
    resumed(folder, [&](auto& trainer, int rank, const resume_report& found) {
        CHECK(found.step == 4);
        const bool is_left_out =
            found.refused.find("is newer than what others have, of step 4") != std::string::npos;
        CHECK(is_left_out == (rank < 2));
        trainer.fit(examples, steps{8});
        ends[static_cast<std::size_t>(rank)].assign(trainer.parameters().begin(),
                                                    trainer.parameters().end());
    });
    const auto whole = train(4, {}, 1.0, 8);
    for (std::size_t rank = 0; rank < 4; ++rank) CHECK(ends[rank] == whole[rank].parameters);

    std::filesystem::remove_all(folder.path() / "group-1");
    CHECK_THROWS_WITH_AS(resumed(folder, [](auto&, int, const resume_report&) {}),
                         doctest::Contains("the newest of step 8, and of others none"), mismatch);
}

TEST_CASE("groups of unlike size, or of other batches, are refused") {
    CHECK_THROWS_WITH_AS(train(3, {}),
                         "prediction_exchange: 3 ranks in 2 groups; expected as many in each",
                         invalid_option);
    CHECK_THROWS_AS(train(1, {.only = 0}), invalid_option);
    CHECK_THROWS_AS(
        run_in_process(2,
                       [](auto& world) {
                           const int own = world.rank();
                           const layout none;
                           auto exchange = prediction_exchange{}.bind(detail::meeting_place{
                               {own, 2}, {1 - own}, {1 - own}, none, world, {0, 1}});
                           const std::vector<float> logits(4);
                           exchange.exchange(logits, std::array{0, own}, 0, std::array{1 - own},
                                             std::array{1 - own},
                                             [](std::size_t, std::span<const float>) {});
                       }),
        mismatch);
}
