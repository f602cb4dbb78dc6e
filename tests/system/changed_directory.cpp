// A program that changes its working directory while it trains: every path that an option or a
// callback was given keeps its meaning.

#include <doctest/doctest.h>

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "sotto/distillation/soft_cross_entropy.hpp"
#include "sotto/models/mlp.hpp"
#include "sotto/optimizers/sgd.hpp"
#include "sotto/strategies/all_reduce.hpp"
#include "sotto/strategies/codistillation/exchanges/checkpoint_exchange.hpp"
#include "sotto/strategies/codistillation.hpp"
#include "sotto/strategies/parameter_server.hpp"
#include "sotto/trainer/checkpoints.hpp"
#include "sotto/logging/chrome_trace.hpp"
#include "sotto/report/html_report.hpp"
#include "sotto/logging/json_lines.hpp"
#include "sotto/trainer/publish.hpp"
#include "sotto/trainer/save_model.hpp"
#include "sotto/trainer/trainer.hpp"
#include "sotto/transports/run_in_process.hpp"
#include "support/folders.hpp"
#include "support/numbers.hpp"
#include "support/saved_models.hpp"

using namespace sotto;

namespace {

/// A folder to begin in and another one to change to; this process is back at the end.
class directories {
public:
    directories() { std::filesystem::create_directories(scratch_.path() / "else" / "where"); }
    ~directories() { std::filesystem::current_path(before_); }
    directories(const directories&) = delete;
    directories& operator=(const directories&) = delete;

    void begin() const { std::filesystem::current_path(scratch_.path()); }
    void change() const { std::filesystem::current_path(scratch_.path() / "else" / "where"); }

    /// Whether a path is there below the first folder, and nothing where the program went.
    bool has(const std::string& path) const {
        return std::filesystem::exists(scratch_.path() / path) &&
               std::filesystem::is_empty(scratch_.path() / "else" / "where");
    }

private:
    std::filesystem::path before_ = std::filesystem::current_path();
    testing::scratch_folder scratch_{"changed_directory"};
};

}  // namespace

TEST_CASE("paths of callbacks: the program changes its directory -> they keep their meaning") {
    const directories places;
    run_in_process(1, [&](in_process& transport) {
        places.begin();
        testing::number_model model;
        trainer trainer{model, all_reduce{sgd{.learning_rate = 0.5}}, transport};
        checkpoints saving{"run/checkpoints", {.every_steps = 1}};
        json_lines log{"run/log.jsonl"};
        chrome_trace trace{"run/trace.json"};
        html_report report{"run/report.html"};
        places.change();
        const auto change = [&](const step_report&) { places.change(); };
        trainer.fit(testing::numbered{70}, steps{3}, saving, log, trace, report, change);
        for (const char* path : {"run/checkpoints/checkpoint-000000000003.safetensors",
                                 "run/log.jsonl", "run/trace.json", "run/report.html"}) {
            CAPTURE(path);
            CHECK(places.has(path));
        }
        CHECK(saving.folder().starts_with('/'));
        places.begin();
        CHECK(save_model(trainer, "run/model.safetensors").starts_with('/'));
        CHECK(publish(trainer, "run/teachers", 0).starts_with('/'));
    });
    run_in_process(1, [&](in_process& transport) {
        testing::number_model model;
        trainer trainer{model, all_reduce{sgd{.learning_rate = 0.5}}, transport};
        places.begin();
        const resume_report found = trainer.resume("run/checkpoints");
        CHECK(found.step == 3);
        CHECK(std::filesystem::path(found.file).is_absolute());
        checkpoints saving{"run/./checkpoints"};
        places.change();
        trainer.fit(testing::numbered{70}, steps{5}, saving);  // not taken for another folder
        CHECK(places.has("run/checkpoints/checkpoint-000000000005.safetensors"));
    });
}

TEST_CASE("paths of strategies: the program changes its directory -> they keep their meaning") {
    const directories places;
    run_in_process(2, [&](in_process& transport) {
        if (transport.rank() == 0) places.begin();
        transport.agree(true);
        testing::number_model model;
        parameter_server strategy{sgd{.learning_rate = 0.5}};
        strategy.servers = {.checkpoints = "served", .every = 1};
        trainer trainer{model, strategy, transport};
        transport.agree(true);
        places.change();
        trainer.fit(testing::numbered{70}, steps{3});
    });
    CHECK(places.has("served/server0"));
    run_in_process(2, [&](in_process& transport) {
        if (transport.rank() == 0) places.begin();
        transport.agree(true);
        models::mlp model{784, 10};
        const checkpoint_exchange meeting{.folder = "groups", .in_background = false};
        trainer trainer{model,
                        codistillation{all_reduce{sgd{.learning_rate = 0.1}}, soft_cross_entropy{},
                                       meeting, codistillation_groups{.every = 1}},
                        transport};
        transport.agree(true);
        places.change();
        trainer.fit(testing::sixty_digits, steps{2});
    });
    CHECK(places.has("groups/group-0/models"));
    CHECK(places.has("groups/group-1/models"));
}
