// Ranks that want different things: all of them are told what differs, or stop together.

#include <doctest/doctest.h>

#include <cstddef>
#include <cstdint>
#include <exception>
#include <span>
#include <string>
#include <vector>

#include "sotto/compressors/dgc.hpp"
#include "sotto/core/errors.hpp"
#include "sotto/optimizers/adamw.hpp"
#include "sotto/optimizers/sgd.hpp"
#include "sotto/strategies/all_reduce.hpp"
#include "support/endings.hpp"
#include "support/numbers.hpp"
#include "support/sensible.hpp"
#include "support/training.hpp"

using namespace sotto;
using testing::keep, testing::sensible, testing::text_of, testing::thrown_by, testing::trained;

namespace {

constexpr int world = 3;
constexpr std::int64_t batch_size = 4, rounds_an_epoch = 5;
constexpr std::int64_t examples = world * batch_size * rounds_an_epoch;

struct stutterer : testing::number_model {
    double gradient(std::span<const float> parameters, const batch_type& batch,
                    std::span<float> out, auto&& on_ready) {
        return number_model::gradient(parameters, batch, out, [&](const tensor& t) {
            on_ready(t);
            on_ready(t);
        });
    }
};

bool contains(const std::string& text, const std::string& part) {
    return text.find(part) != std::string::npos;
}

}  // namespace

TEST_CASE("ranks that were configured differently are told the field and both values") {
    struct setting {
        dgc compressor{};
        sgd optimizer{};
        training_options training{};
        layout tensors = testing::small_layout();
    };
    const auto differ = [](int rank, auto change, const std::string& found,
                           const std::string& expected) {
        std::vector<std::string> texts(world);
        const auto thrown = thrown_by(world, [&](in_process& transport) {
            setting s;
            if (transport.rank() == rank) change(s);
            testing::number_model model(s.tensors);
            try {
                trainer trainer{model, all_reduce{s.optimizer, s.compressor}, transport,
                                s.training};
            } catch (const mismatch& e) {
                texts[static_cast<std::size_t>(transport.rank())] = e.what();
                throw;
            }
        });
        const std::string sentence = "the ranks are configured differently: rank " +
                                     std::to_string(rank) + " has '" + found +
                                     "' where rank 0 has '" + expected + "'";
        CHECK(text_of(thrown) == sentence);
        for (const std::string& text : texts) CHECK(text == sentence);
    };
    for (const int rank : {1, 2}) {
        differ(
            rank, [](setting& s) { s.compressor.density = 0.25; },
            "strategy.compressor.selector.density = 0.25",
            "strategy.compressor.selector.density = 0.001");
        differ(
            rank, [](setting& s) { s.optimizer.learning_rate = 0.5; },
            "strategy.optimizer.learning_rate = 0.5", "strategy.optimizer.learning_rate = 0.1");
        differ(
            rank, [](setting& s) { s.training.seed = 42; }, "trainer.seed = 42",
            "trainer.seed = 0");
        differ(
            rank, [](setting& s) { s.training.batch_size = 8; }, "trainer.batch_size = 8",
            "trainer.batch_size = 32");
        differ(
            rank, [](setting& s) { s.compressor.values = wire::value_format::fp16; },
            "strategy.compressor.message.values = fp16",
            "strategy.compressor.message.values = fp32");
        differ(
            rank,
            [](setting& s) {
                s.tensors.add("third", {2, 3});
            },
            "tensor third = 2 x 3", "nothing");
    }
    // Other types are named too.
    const auto thrown = thrown_by(2, [&](in_process& transport) {
        testing::number_model model;
        if (transport.rank() == 0)
            trainer{model, all_reduce{sgd{}}, transport};
        else
            trainer{model, all_reduce{adamw{}}, transport};
    });
    CHECK(contains(text_of(thrown), "adamw"));
    CHECK(contains(text_of(thrown), "rank 1"));
}

TEST_CASE("ranks that ask different things of fit are told so at once") {
    const auto differ = [](auto fit_of_rank, const std::string& sentence) {
        std::vector<std::string> texts(world);
        const auto thrown = thrown_by(world, [&](in_process& transport) {
            testing::number_model model;
            trainer trainer{model, all_reduce{}, transport, {.batch_size = 4}};
            try {
                fit_of_rank(trainer, transport.rank());
            } catch (const mismatch& e) {
                texts[static_cast<std::size_t>(transport.rank())] = e.what();
                throw;
            }
        });
        const std::string expected =
            "the ranks are configured differently: rank 2 has '" + sentence;
        CHECK(text_of(thrown) == expected);
        for (const std::string& text : texts) CHECK(text == expected);
    };
    const testing::numbered data{60};
    differ([&](auto& trainer, int rank) { trainer.fit(data, epochs{rank == 2 ? 3 : 2}); },
           "fit.epochs = 3' where rank 0 has 'fit.epochs = 2'");
    differ([&](auto& trainer, int rank) { trainer.fit(data, steps{rank == 2 ? 9 : 10}); },
           "fit.steps = 9' where rank 0 has 'fit.steps = 10'");
    differ([&](auto& trainer,
               int rank) { trainer.fit(testing::numbered{rank == 2 ? 61 : 60}, epochs{1}); },
           "fit.examples = 61' where rank 0 has 'fit.examples = 60'");
    differ(
        [&](auto& trainer, int rank) {
            if (rank == 2)
                trainer.fit(data, epochs{1});
            else
                trainer.fit(data, epochs{1}, evaluate_on{data});
        },
        "nothing' where rank 0 has 'evaluate_on.every = 1'");
    differ(
        [&](auto& trainer, int rank) {
            if (rank == 2)
                trainer.fit(local_data{data}, epochs{1});
            else
                trainer.fit(data, epochs{1});
        },
        "fit.local_data = true' where rank 0 has 'fit.local_data = false'");
}

TEST_CASE("a rank that trains on alone is told that the others have left") {
    const auto thrown = thrown_by(2, [&](in_process& transport) {
        testing::number_model model;
        trainer trainer{model, all_reduce{}, transport, {.batch_size = 4}};
        trainer.fit(testing::numbered{16}, epochs{1});
        if (transport.rank() == 1) trainer.fit(testing::numbered{16}, epochs{1});
    });
    CHECK(contains(text_of(thrown), "rank 0 failed: it left: its function returned"));
}

TEST_CASE("one rank that asks to stop stops all after the same epoch") {
    const auto expected = testing::train(world, all_reduce{},
                                         {.examples = examples,
                                          .batch_size = batch_size,
                                          .length = epochs{2},
                                          .seed = training_options{}.seed});
    for (int rank = 0; rank < world; ++rank) {
        std::vector<trained> left(world);
        run_in_process(world, [&](in_process& transport) {
            testing::number_model model;
            trainer trainer{model, all_reduce{}, transport, {.batch_size = batch_size}};
            const auto stop = [&](const epoch_report& report) {
                return transport.rank() == rank && report.epoch == 2 ? fit_control::stop
                                                                     : fit_control::keep_going;
            };
            trained& mine = left[static_cast<std::size_t>(transport.rank())];
            mine.report = trainer.fit(testing::numbered{examples}, epochs{9}, stop);
            keep(mine, trainer);
        });
        for (const trained& one : left) {
            CHECK(one.report.stopped_early);
            CHECK(one.report.epochs == 2);
            CHECK(one.report.steps == 2 * rounds_an_epoch);
            CHECK(one.same_state(expected[0]));
        }
    }
}

TEST_CASE("a tensor that is announced twice is refused by name") {
    const auto thrown = thrown_by(1, [&](in_process& transport) {
        stutterer model;
        trainer trainer{model, all_reduce{sgd{}, dgc{}}, transport};
        trainer.fit(testing::numbered{40}, epochs{1});
    });
    CHECK(text_of(thrown) ==
          "all_reduce: the model announced tensor 'second.weight' twice; once its gradient is "
          "announced it must be final");
}
