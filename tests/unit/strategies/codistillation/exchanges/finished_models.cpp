#include "sotto/checkpoint/detail/posix_files.hpp"
#include "sotto/strategies/codistillation/exchanges/finished_models.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <numeric>
#include <span>
#include <string>
#include <vector>

#include "sotto/checkpoint/detail/generations.hpp"
#include "sotto/checkpoint/detail/group_folders.hpp"
#include "sotto/checkpoint/detail/published_model.hpp"
#include "sotto/core/errors.hpp"
#include "sotto/data/digits.hpp"
#include "sotto/distillation/forward_kl.hpp"
#include "sotto/losses/cross_entropy.hpp"
#include "sotto/losses/squared_error.hpp"
#include "sotto/models/mlp.hpp"
#include "sotto/models/sequential.hpp"
#include "sotto/nn/batch_norm.hpp"
#include "sotto/nn/chain.hpp"
#include "sotto/nn/dense.hpp"
#include "sotto/optimizers/momentum_sgd.hpp"
#include "sotto/optimizers/sgd.hpp"
#include "sotto/strategies/all_reduce.hpp"
#include "sotto/strategies/codistillation.hpp"
#include "sotto/trainer/checkpoints.hpp"
#include "sotto/trainer/publish.hpp"
#include "sotto/trainer/trainer.hpp"
#include "sotto/transports/run_in_process.hpp"
#include "support/apart.hpp"
#include "support/folders.hpp"

using namespace sotto;
using detail::architecture_of;
using testing::scratch_folder;

static_assert(detail::teacher_exchange<finished_models>);

namespace {

using floats = std::vector<float>;

std::filesystem::path models_of(const scratch_folder& folder, int group = 0) {
    return detail::checkpoint::models_folder(folder.path(), group);
}

const auto examples = data::digits(60, random_stream{3});
constexpr training_options whole_batches{.batch_size = 60, .seed = 5, .shuffle = false};

/// The first phase: a teacher, trained alone.
template <class Model = models::mlp<>>
floats teach(const scratch_folder& folder, int group, std::uint64_t seed,
             Model model = Model{784, 8, 10}) {
    floats left;
    run_in_process(1, [&](auto& transport) {
        trainer trainer{model,
                        all_reduce{sgd{.learning_rate = 0.2}},
                        transport,
                        {.batch_size = 20, .seed = seed}};
        trainer.fit(examples, steps{12});
        publish(trainer, folder.path(), group);
        left.assign(trainer.parameters().begin(), trainer.parameters().end());
    });
    return left;
}

auto taught_by(const scratch_folder& folder, int count = 1,
               codistillation_groups groups = {.count = 1}, double weight = 1.0) {
    return codistillation{all_reduce{momentum_sgd{.learning_rate = 0.1, .momentum = 0.9}},
                          forward_kl{}, finished_models{.folder = folder.path(), .count = count},
                          groups, constant_weight{weight}};
}

struct left {
    floats parameters;
    std::vector<detail::taught_report> taught;
};

template <class Strategy, class See>
std::vector<left> train_groups(int ranks, const Strategy& strategy, std::int64_t count, See see,
                               training_options options = {.batch_size = 10, .seed = 5}) {
    std::vector<left> all(static_cast<std::size_t>(ranks));
    run_in_process(ranks, [&](auto& transport) {
        models::mlp model{784, 8, 10};
        trainer trainer{model, strategy, transport, options};
        left& mine = all[static_cast<std::size_t>(transport.rank())];
        trainer.fit(examples, steps{count}, [&](const step_report& step) {
            mine.taught.push_back(step.round.taught);
            see(step);
        });
        mine.parameters.assign(trainer.parameters().begin(), trainer.parameters().end());
    });
    return all;
}

template <class Strategy>
std::vector<left> train_groups(int ranks, const Strategy& strategy, std::int64_t count) {
    return train_groups(ranks, strategy, count, [](const step_report&) {});
}

template <class Strategy>
std::string why_not(const Strategy& strategy) {
    try {
        train_groups(1, strategy, 2);
    } catch (const invalid_option& e) {
        return e.what();
    }
    return "";
}

}  // namespace

TEST_CASE(
    "a student learns from the labels and from what both teachers say, from the first step on") {
    const scratch_folder folder("finished_by_hand");
    const std::vector<floats> teachers{teach(folder, 0, 1), teach(folder, 1, 2)};
    REQUIRE(teachers[0] != teachers[1]);
    constexpr double weight = 0.7;
    constexpr float rate = 0.125f;
    const codistillation strategy{all_reduce{sgd{.learning_rate = rate}},
                                  forward_kl{.temperature = 2.0},
                                  finished_models{.folder = folder.path(), .count = 2},
                                  {.count = 1},
                                  constant_weight{weight}};
    run_in_process(1, [&](auto& transport) {
        models::mlp model{784, 8, 10};
        trainer trainer{model, strategy, transport, whole_batches};
        const floats start(trainer.parameters().begin(), trainer.parameters().end());
        floats expected = start;

        std::vector<std::int64_t> indices(60);
        std::iota(indices.begin(), indices.end(), 0);
        data::labelled_batch batch;
        examples.gather(indices, batch);
        const forward_kl kl{.temperature = 2.0};
        for (int step = 0; step < 3; ++step) {
            floats targets(600), of_logits(600), gradient(expected.size());
            for (const floats& teacher : teachers)
                kl.add(model.predict(teacher, batch), 10, 0.5, targets);
            const auto logits = model.forward(expected, batch);
            cross_entropy{}.gradient(logits, batch.labels(), of_logits);
            kl.gradient(logits, 10, targets, weight, of_logits);
            model.backward(expected, batch, of_logits, gradient, [](const tensor&) {});
            for (std::size_t i = 0; i < expected.size(); ++i) expected[i] -= rate * gradient[i];
        }
        trainer.fit(examples, steps{3}, [&](const step_report& step) {
            CHECK(step.round.taught.teachers == 2);
            CHECK(step.round.taught.weight == weight);
        });
        double apart = 0.0, moved = 0.0;
        for (std::size_t i = 0; i < expected.size(); ++i) {
            apart = std::max(apart, std::abs(double{expected[i]} - trainer.parameters()[i]));
            moved = std::max(moved, std::abs(double{start[i]} - trainer.parameters()[i]));
        }
        CHECK(apart < 1e-6);
        CHECK(moved > 1e-2);
        for (const detail::teacher_status& teacher : trainer.state().teachers()) {
            CHECK(teacher.step == 12);
            CHECK(teacher.why == detail::left_out::no);
        }
    });
}

TEST_CASE("with weight 0 it is training alone, to the last bit") {
    const scratch_folder folder("finished_weightless");
    teach(folder, 0, 1);
    const auto strategy = taught_by(folder);
    const auto alone = train_groups(2, testing::apart{strategy.strategy, 1}, 6);
    const auto silent = train_groups(2, taught_by(folder, 1, {.count = 1}, 0.0), 6);
    const auto burnt_in = train_groups(2, taught_by(folder, 1, {.count = 1, .burn_in = 6}), 6);
    const auto heard = train_groups(2, strategy, 6);
    CHECK(silent[0].parameters == alone[0].parameters);
    CHECK(burnt_in[0].parameters == alone[0].parameters);
    CHECK(heard[0].parameters != alone[0].parameters);
}

TEST_CASE("all ranks of a student hear its teachers from the first step after the burn-in") {
    const scratch_folder folder("finished_ranks");
    teach(folder, 0, 1);
    for (const std::int64_t burn_in : {0, 3}) {
        const auto ranks =
            train_groups(3, taught_by(folder, 1, {.count = 1, .every = 5, .burn_in = burn_in}), 8);
        CHECK(ranks[0].parameters == ranks[1].parameters);
        CHECK(ranks[0].parameters == ranks[2].parameters);
        for (const left& rank : ranks)
            for (std::int64_t step = 0; step < 8; ++step) {
                const detail::taught_report& round = rank.taught[static_cast<std::size_t>(step)];
                CHECK(round.teachers == (step < burn_in ? 0 : 1));
                if (step >= burn_in) CHECK(round.age == step - 12);
            }
    }
}

TEST_CASE("several students have the same teachers, and are no teachers themselves") {
    const scratch_folder folder("finished_students");
    teach(folder, 0, 1);
    const auto ranks = train_groups(2, taught_by(folder, 1, {.count = 2, .every = 2}), 6);
    CHECK(ranks[0].parameters != ranks[1].parameters);  // each began elsewhere
    for (const left& rank : ranks)
        for (const detail::taught_report& round : rank.taught) CHECK(round.teachers == 1);
}

TEST_CASE("teachers stay as they were, and nothing is published beside them") {
    const scratch_folder folder("finished_stay");
    teach(folder, 0, 1);
    const auto undisturbed = train_groups(1, taught_by(folder, 1, {.count = 1, .every = 2}), 8);
    detail::checkpoint::posix_files files;
    std::error_code why;
    CHECK(detail::checkpoint::generations(files, models_of(folder), why) ==
          std::vector<std::int64_t>{12});
    const auto disturb = [&](const step_report& step) {
        if (step.step != 3) return;
        models::mlp model{784, 8, 10};
        const auto kind = architecture_of(model);
        floats other(static_cast<std::size_t>(kind.parameters.size()), 0.25f);
        REQUIRE(detail::checkpoint::publish_model(files, models_of(folder), kind,
                                                  {.step = 99, .architecture = kind.identity()},
                                                  other, {}) == "");
    };
    const auto disturbed =
        train_groups(1, taught_by(folder, 1, {.count = 1, .every = 2}), 8, disturb);
    CHECK(disturbed[0].parameters == undisturbed[0].parameters);
    CHECK(train_groups(1, taught_by(folder), 8)[0].parameters != undisturbed[0].parameters);
}

TEST_CASE("a student that goes on from a checkpoint hears its teachers at once, to the last bit") {
    const scratch_folder folder("finished_resumed"), saved("finished_resumed_saved");
    teach(folder, 0, 1);
    const auto strategy = taught_by(folder, 1, {.count = 1, .every = 5});
    const auto whole = train_groups(2, strategy, 9);
    floats resumed;
    for (const std::int64_t count : {7, 9})
        run_in_process(2, [&](auto& transport) {
            models::mlp model{784, 8, 10};
            trainer trainer{model, strategy, transport, {.batch_size = 10, .seed = 5}};
            trainer.try_resume(saved.path());
            trainer.fit(examples, steps{count}, checkpoints{saved.path()});
            if (transport.rank() == 0)
                resumed.assign(trainer.parameters().begin(), trainer.parameters().end());
        });
    CHECK(resumed == whole[0].parameters);
}

TEST_CASE("a teacher that learnt by another loss is one all the same") {
    const scratch_folder folder("finished_other_loss");
    teach(folder, 0, 1, models::mlp{{784, 8, 10}, squared_error{}});
    teach(folder, 1, 1, models::mlp{{784, 8, 10}, cross_entropy{.label_smoothing = 0.1}});
    const auto student = train_groups(1, taught_by(folder, 2), 2);
    for (const detail::taught_report& round : student[0].taught) CHECK(round.teachers == 2);
}

TEST_CASE("a teacher brings its running statistics") {
    const scratch_folder folder("finished_buffers");
    using layers = nn::chain<nn::dense, nn::batch_norm, nn::dense>;
    const auto make = [] {
        return models::sequential<layers>{nn::shape{784, 1, 1},
                                          nn::chain{nn::dense{6}, nn::batch_norm{}, nn::dense{10}}};
    };
    teach(folder, 0, 1, make());
    detail::checkpoint::posix_files files;
    auto model = make();
    const auto found =
        detail::checkpoint::read_published(files, models_of(folder), architecture_of(model));
    REQUIRE(found);
    const floats start(model.buffers().begin(), model.buffers().end());
    CHECK(found->buffers.size() == start.size());
    CHECK(found->buffers != start);
}

TEST_CASE("teachers that are not there are refused when they are bound, by their places") {
    const scratch_folder folder("finished_refused");
    CHECK(why_not(taught_by(folder)) == "finished_models: teacher 0 of 1 was to be in '" +
                                            models_of(folder).string() +
                                            "': there is no model in it");
    teach(folder, 0, 1);
    CHECK(why_not(taught_by(folder)) == "");
    CHECK(why_not(taught_by(folder, 2)) == "finished_models: teacher 1 of 2 was to be in '" +
                                               models_of(folder, 1).string() +
                                               "': there is no model in it");
    CHECK(why_not(taught_by(folder, 0)) ==
          "finished_models: count is 0; it must be at least 1 and at most 4096");
    auto nowhere = taught_by(folder);
    nowhere.exchange.folder.clear();
    CHECK(why_not(nowhere) == "finished_models: there is no folder to read teachers from");
    // Where the folder's name is wrong.
    nowhere.exchange.folder = folder.path() / "teechers";
    CHECK(why_not(nowhere).find("teechers/group-0/models': there is no model in it") !=
          std::string::npos);

    const auto file = models_of(folder) / detail::checkpoint::file_name(12);
    std::filesystem::resize_file(file, std::filesystem::file_size(file) / 2);
    CHECK(why_not(taught_by(folder))
              .find("': none in it is whole: '" + file.string() + "' is damaged") !=
          std::string::npos);
    std::filesystem::remove(file);
    std::filesystem::create_directories(file);
    CHECK(why_not(taught_by(folder)).find("cannot open '" + file.string()) != std::string::npos);
}

TEST_CASE("a teacher of another kind is refused in the first step that is taught") {
    const scratch_folder folder("finished_other_kind");
    teach(folder, 0, 1, models::mlp{784, 9, 10});
    const std::string why = why_not(taught_by(folder));
    CHECK(why.starts_with("finished_models: '"));
    CHECK(why.find("is a model of architecture") != std::string::npos);
    CHECK(why.find(", of the student's own") != std::string::npos);
}
