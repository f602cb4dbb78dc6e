#include "sotto/checkpoint/detail/posix_files.hpp"
#include "sotto/trainer/publish.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "sotto/checkpoint/detail/group_folders.hpp"
#include "sotto/checkpoint/detail/published_model.hpp"
#include "sotto/core/errors.hpp"
#include "sotto/data/digits.hpp"
#include "sotto/models/ensemble.hpp"
#include "sotto/models/mlp.hpp"
#include "sotto/models/sequential.hpp"
#include "sotto/nn/batch_norm.hpp"
#include "sotto/nn/chain.hpp"
#include "sotto/nn/dense.hpp"
#include "sotto/optimizers/sgd.hpp"
#include "sotto/strategies/all_reduce.hpp"
#include "sotto/strategies/detail/codistillation/architecture_of.hpp"
#include "sotto/strategies/gossip.hpp"
#include "sotto/strategies/parameter_server.hpp"
#include "sotto/topologies/ring.hpp"
#include "sotto/trainer/trainer.hpp"
#include "sotto/transports/run_in_process.hpp"
#include "support/folders.hpp"
#include "support/memory_disk.hpp"

using namespace sotto;
using detail::architecture_of;
using testing::scratch_folder;

namespace {

const auto examples = data::digits(60, random_stream{3});

auto normed() {
    return models::sequential{nn::shape{784, 1, 1},
                              nn::chain{nn::dense{6}, nn::batch_norm{}, nn::dense{10}}};
}

template <class Model>
detail::checkpoint::published_model read(Model& model, const scratch_folder& folder, int group) {
    detail::checkpoint::posix_files files;
    auto found = detail::checkpoint::read_published(
        files, detail::checkpoint::models_folder(folder.path(), group), architecture_of(model));
    REQUIRE(found);
    return *found;
}

}  // namespace

TEST_CASE(
    "what is published is what evaluate measures, where ranks' buffers or parameters differ") {
    const auto check = [](const char* name, const auto& strategy) {
        const scratch_folder folder(name);
        evaluation measured;
        run_in_process(3, [&](auto& transport) {
            auto model = normed();
            trainer trainer{model, strategy, transport, {.batch_size = 5, .seed = 2}};
            const fit_report report = trainer.fit(examples, steps{4});
            const std::vector<float> own(model.buffers().begin(), model.buffers().end());
            const auto file = publish(trainer, folder.path(), 7, {.label_loss = report.loss});
            CHECK(file == folder.path() / "group-7/models/checkpoint-000000000004.safetensors");
            CHECK(std::ranges::equal(model.buffers(), own));  // its own again
            const evaluation found = trainer.evaluate(examples);
            if (transport.rank() == 0) measured = found;
        });
        auto model = normed();
        const auto found = read(model, folder, 7);
        CHECK(found.facts.step == 4);
        CHECK(found.facts.group == "7");
        CHECK(std::isfinite(found.facts.label_loss));
        ensemble one{model, {{found.parameters, found.buffers}}};
        const detail::ensemble_scores scores = one.evaluate(examples);
        CHECK(scores.log_loss == doctest::Approx(measured.loss).epsilon(1e-5));
        CHECK(scores.accuracy == measured.accuracy);
    };
    check("publish_alike", all_reduce{sgd{.learning_rate = 0.2}});
    check("publish_apart", gossip{sgd{.learning_rate = 0.2}, topologies::ring{}});
}

TEST_CASE(
    "a model is published again and again, the last ones are kept, and not known is no loss") {
    const scratch_folder folder("publish_again");
    run_in_process(2, [&](auto& transport) {
        models::mlp model{784, 10};
        trainer trainer{model, all_reduce{sgd{}}, transport};
        publish(trainer, folder.path(), 0);
        for (int i = 0; i < 3; ++i) {
            trainer.fit(examples, steps{1});
            publish(trainer, folder.path(), 0, {.keep = 3});
        }
        const auto found = read(model, folder, 0);
        CHECK(found.facts.step == 3);
        CHECK(std::isnan(found.facts.label_loss));
        CHECK(std::ranges::equal(found.parameters, trainer.parameters()));
    });
    detail::checkpoint::posix_files files;
    const auto there = detail::checkpoint::models_folder(folder.path(), 0);
    CHECK(detail::checkpoint::survey_published(files, there).kept == 3);
}

TEST_CASE("where ranks are not in step one of them publishes its own") {
    const scratch_folder folder("publish_served");
    run_in_process(2, [&](auto& transport) {
        models::mlp model{784, 10};
        trainer trainer{model, parameter_server{sgd{.learning_rate = 0.1}}, transport};
        trainer.fit(examples, steps{2});
        if (transport.rank() != 1) return;
        publish(trainer, folder.path(), 1);
        CHECK(std::ranges::equal(read(model, folder, 1).parameters, trainer.parameters()));
    });
}

TEST_CASE("what cannot be published is the same error on all ranks, and what was there stays") {
    std::vector<std::string> said(3);
    const auto disk = std::make_shared<testing::memory_disk>();
    run_in_process(3, [&](auto& transport) {
        models::mlp model{784, 10};
        trainer trainer{model, all_reduce{sgd{}}, transport};
        const testing::memory_files files(disk);
        publish(trainer, "teachers", 0, {}, files);
        trainer.fit(examples, steps{1});
        if (transport.rank() == 0) {
            disk->failure = ENOSPC;
            disk->fails_at = disk->calls + 3;
        }
        try {
            publish(trainer, "teachers", 0, {}, files);
        } catch (const io_failure& e) {
            said[static_cast<std::size_t>(transport.rank())] = e.what();
        }
    });
    CHECK(said[0].starts_with("publish: cannot "));
    CHECK(said[0].find("No space left") != std::string::npos);
    CHECK(said[1] == said[0]);
    CHECK(said[2] == said[0]);
    testing::memory_files files(disk);
    const auto left = detail::checkpoint::survey_published(files, "group-0");
    REQUIRE(left.newest);
    CHECK(left.newest->step == 0);
    CHECK(left.torn.empty());
}

TEST_CASE("groups and numbers that cannot be are refused") {
    const scratch_folder folder("publish_refused");
    run_in_process(1, [&](auto& transport) {
        models::mlp model{784, 10};
        trainer trainer{model, all_reduce{sgd{}}, transport};
        CHECK_THROWS_WITH_AS(publish(trainer, folder.path(), -1),
                             "publish: group is -1; it must be at least 0", invalid_option);
        CHECK_THROWS_WITH_AS(publish(trainer, folder.path(), 0, {.keep = 0}),
                             "publish: keep is 0; it must be at least 1", invalid_option);
    });
}
