#include "sotto/trainer/initialized_from.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cstddef>
#include <string>
#include <vector>

#include "sotto/checkpoint/saved_model.hpp"
#include "sotto/core/errors.hpp"
#include "sotto/models/gradient_source.hpp"
#include "sotto/optimizers/sgd.hpp"
#include "sotto/strategies/all_reduce.hpp"
#include "sotto/strategies/detail/codistillation/architecture_of.hpp"
#include "sotto/strategies/gossip.hpp"
#include "sotto/topologies/ring.hpp"
#include "sotto/trainer/checkpoints.hpp"
#include "sotto/trainer/save_model.hpp"
#include "sotto/trainer/trainer.hpp"
#include "sotto/transports/run_in_process.hpp"
#include "support/folders.hpp"
#include "support/numbers.hpp"
#include "support/saved_models.hpp"

using namespace sotto;
using detail::architecture_of;
using testing::copy_of;
using testing::make_file;
using testing::normed;
using testing::scratch_folder;
using testing::sixty_digits;

static_assert(predictor<initialized_from<decltype(normed())>>);
static_assert(detail::with_buffers<initialized_from<decltype(normed())>>);
static_assert(!detail::with_buffers<initialized_from<testing::number_model>>);

TEST_CASE("a trainer begins with what was learnt, and all ranks go on from there alike") {
    const scratch_folder folder("saved_begun");
    const auto file = folder.path() / "model.safetensors";
    const saved_model held = make_file(file, 30);
    std::vector<std::vector<float>> after(3);
    run_in_process(3, [&](auto& transport) {
        initialized_from model{normed(), load_model(file)};
        trainer trainer{model, all_reduce{sgd{.learning_rate = 0.01}}, transport, {.seed = 9}};
        CHECK(std::ranges::equal(trainer.parameters(), held.parameters));
        CHECK(std::ranges::equal(model.buffers(), held.buffers));
        const double before = trainer.evaluate(sixty_digits).loss;
        CHECK(before < 1.0);  // 2.3 by guessing
        trainer.fit(sixty_digits, steps{5});
        CHECK(before > trainer.evaluate(sixty_digits).loss);
        CHECK_FALSE(std::ranges::equal(trainer.parameters(), held.parameters));
        CHECK_FALSE(std::ranges::equal(model.buffers(), held.buffers));
        after[static_cast<std::size_t>(transport.rank())] = copy_of(trainer.parameters());
    });
    CHECK(after[1] == after[0]);
    CHECK(after[2] == after[0]);
}

TEST_CASE("a model begun from itself learns what it would have learnt, whatever its strategy") {
    const scratch_folder folder("saved_exactly");
    const auto file = folder.path() / "model.safetensors";
    const auto check = [&](const auto& strategy) {
        std::vector<float> begun, plain;
        const auto train = [&](auto& model, auto& transport, std::vector<float>& learnt) {
            trainer trainer{model, strategy, transport, {.seed = 4}};
            trainer.fit(testing::numbered{40}, steps{6});
            if (transport.rank() == 0) learnt = copy_of(trainer.parameters());
        };
        run_in_process(2, [&](auto& transport) {
            testing::number_model model;
            trainer untrained{model, strategy, transport, {.seed = 4}};
            save_model(untrained, file);
        });
        run_in_process(2, [&](auto& transport) {
            testing::number_model model;
            train(model, transport, plain);
        });
        run_in_process(2, [&](auto& transport) {
            initialized_from model{testing::number_model{}, load_model(file)};
            train(model, transport, begun);
        });
        CHECK(begun == plain);
    };
    check(all_reduce{sgd{.learning_rate = 0.5}});
    check(gossip{sgd{.learning_rate = 0.5}, topologies::ring{}});
}

TEST_CASE("ranks that begin with other files are refused, and told so") {
    const scratch_folder folder("saved_otherwise");
    const auto one = folder.path() / "one.safetensors", other = folder.path() / "other.safetensors";
    make_file(one, 0);
    make_file(other, 1);
    std::string said;
    try {
        run_in_process(2, [&](auto& transport) {
            initialized_from model{normed(), load_model(transport.rank() == 0 ? one : other)};
            trainer trainer{model, all_reduce{}, transport};
        });
    } catch (const mismatch& e) {
        said = e.what();
    }
    CHECK(said.find("model.begins_with = ") != std::string::npos);
}

TEST_CASE("to others a model is of the same kind, whatever it began with") {
    const scratch_folder folder("saved_kind");
    const auto file = folder.path() / "model.safetensors";
    make_file(file, 0);
    const initialized_from model{normed(), load_model(file)};
    CHECK(architecture_of(model).identity() == architecture_of(normed()).identity());
    const testing::number_model plain;
    run_in_process(1, [&](auto& transport) {
        auto made = plain;
        trainer trainer{made, all_reduce{}, transport};
        save_model(trainer, file);
    });
    CHECK(architecture_of(initialized_from{plain, load_model(file)}).identity() ==
          architecture_of(plain).identity());
}

TEST_CASE("a run that began with another file does not go on from a checkpoint") {
    const scratch_folder folder("begun_resumed");
    const auto one = folder.path() / "one.safetensors", other = folder.path() / "other.safetensors";
    make_file(one, 0);
    make_file(other, 1);
    const auto resume = [&](const auto& file) {
        std::int64_t at = 0;
        run_in_process(2, [&](auto& transport) {
            initialized_from model{normed(), load_model(file)};
            trainer trainer{model, all_reduce{sgd{.learning_rate = 0.1}}, transport};
            const auto found = trainer.try_resume(folder.path() / "run");
            trainer.fit(sixty_digits, steps{found.step + 2},
                        checkpoints{folder.path() / "run", {.every_steps = 2}});
            if (transport.rank() == 0) at = trainer.step();
        });
        return at;
    };
    CHECK(resume(one) == 2);
    CHECK(resume(one) == 4);
    std::string said;
    try {
        resume(other);
    } catch (const mismatch& e) {
        said = e.what();
    }
    CHECK(said.find(" is no checkpoint of this run: ") != std::string::npos);
    CHECK(said.find("model.begins_with = ") != std::string::npos);
}
