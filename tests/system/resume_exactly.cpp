// A run that ends anywhere and is started again ends as the run that was never interrupted, bit for
// bit: parameters, buffers, optimizer and compressor on every rank.

#include <doctest/doctest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <iterator>
#include <span>
#include <string>
#include <vector>

#include "sotto/core/errors.hpp"
#include "support/all_policies.hpp"
#include "support/checkpointed.hpp"
#include "support/endings.hpp"
#include "support/sensible.hpp"

using namespace sotto;
using testing::checkpointed, testing::memory_disk, testing::memory_files,
    testing::run_with_checkpoints, testing::sensible;

namespace {

bool same_runs(const std::vector<checkpointed>& a, const std::vector<checkpointed>& b) {
    for (std::size_t rank = 0; rank < a.size(); ++rank)
        if (!a[rank].same_run(b[rank])) return false;
    return a.size() == b.size();
}

/// One bit of the newest checkpoint on a disk is flipped.
void damage_newest(memory_files& files) {
    bytes& file = files.disk().names.rbegin()->second->now;
    file[file.size() / 2] ^= std::byte{1};
}

/// A compressor of few lines that remembers nothing, and so needs no visit.
struct every_other {
    struct state {
        std::size_t first = 0;
        void begin_round(const round_info& round) {
            first = static_cast<std::size_t>(round.step % 2);
        }
        void encode(const tensor&, std::span<const float> gradient, bytes& out) const {
            for (std::size_t i = first; i < gradient.size(); i += 2) {
                const auto value = std::as_bytes(gradient.subspan(i, 1));
                out.insert(out.end(), value.begin(), value.end());
            }
        }
        void decode_add(const tensor&, byte_view message, std::span<float> sum) const {
            for (std::size_t i = first, at = 0; i < sum.size(); i += 2, at += sizeof(float)) {
                float value;
                std::memcpy(&value, message.data() + at, sizeof value);
                sum[i] += value;
            }
        }
    };
    state bind(const layout&) const { return {}; }
};

/// A selector that remembers: it goes on from where it ended, whatever the round.
struct onward {
    double density = 0.125;

    struct selector_state {
        std::int64_t next = 0;
        std::vector<std::uint32_t> chosen{};
        void begin_round(const round_info&) { next += 3; }
        std::int64_t entries_max(const tensor&, std::int64_t k) const { return k; }
        std::span<const std::uint32_t> select(const tensor&, std::span<const float> values,
                                              std::int64_t k) {
            chosen.clear();
            for (std::int64_t i = 0; i < k; ++i)
                chosen.push_back(static_cast<std::uint32_t>((next + i) % std::ssize(values)));
            std::ranges::sort(chosen);
            return chosen;
        }
        void visit(auto&& field) { field("onward/next", next); }
    };
    selector_state bind_selector(const layout&) const { return {}; }
};

}  // namespace

TEST_CASE_TEMPLATE_DEFINE("interrupted after any step and resumed, a run ends with the same bits",
                          S, resumes_exactly) {
    const auto strategy = sensible<S>::options();
    for (const int world : {1, 3}) {
        const auto whole = run_with_checkpoints(world, strategy, memory_files{});
        CHECK(whole[0].report.steps == 12);
        for (const std::int64_t step : {1, 5, 6, 7, 11}) {  // 6 steps an epoch for 3 ranks
            CAPTURE(step);
            memory_files files;
            run_with_checkpoints(world, strategy, files, {.after_step = step});
            const auto resumed = run_with_checkpoints(world, strategy, files);
            CHECK(resumed[0].resumed.found == (step > 1));  // it ended before that was saved
            CHECK(resumed[0].report.steps == 12 - step + 1);
            CHECK(resumed[0].report.step == 12);
            CHECK(same_runs(whole, resumed));
        }
    }
}
TEST_CASE_TEMPLATE_APPLY(resumes_exactly, testing::every_strategy);

TEST_CASE("policies of one's own are resumed: one that remembers nothing, and one that shows it") {
    const auto check = [](const auto& strategy) {
        const auto whole = run_with_checkpoints(3, strategy, memory_files{});
        for (const std::int64_t step : {2, 6, 9}) {
            memory_files files;
            run_with_checkpoints(3, strategy, files, {.after_step = step});
            CHECK(same_runs(whole, run_with_checkpoints(3, strategy, files)));
        }
    };
    check(all_reduce{sgd{.learning_rate = 0.0625}, every_other{}});
    check(all_reduce{sgd{.learning_rate = 0.0625}, sparsified{onward{}, residual{}}});
}

TEST_CASE("epochs that were done before an interruption count") {
    const all_reduce strategy{sgd{.learning_rate = 0.0625}, sensible<dgc>::options()};
    for (const checkpoints::options& options :
         {checkpoints::options{}, checkpoints::options{.every_epochs = 2},
          checkpoints::options{.every_steps = 4},
          checkpoints::options{.every_steps = 5, .every_epochs = 1}}) {
        testing::interruption how{.length = epochs{4}, .options = options};
        const auto whole = run_with_checkpoints(3, strategy, memory_files{}, how);
        CHECK(whole[0].report.epochs == 4);
        for (const std::int64_t step : {3, 6, 7, 13, 20, 24}) {
            CAPTURE(step);
            memory_files files;
            how.after_step = step;
            run_with_checkpoints(3, strategy, files, how);
            how.after_step = 0;
            const auto resumed = run_with_checkpoints(3, strategy, files, how);
            CHECK(same_runs(whole, resumed));
            CHECK(resumed[0].report.step == 24);
            CHECK(resumed[0].resumed.step + resumed[0].report.steps == 24);
        }
    }
}

TEST_CASE("interrupted again and again, a run still ends with the same bits") {
    const all_reduce strategy{momentum_sgd{.learning_rate = 0.0625},
                              sparsified{top_k{.density = 0.125}, residual{}}};
    const auto whole = run_with_checkpoints(4, strategy, memory_files{});
    memory_files files;
    std::int64_t done = 0;
    for (std::int64_t step = 2; step < 12; ++step)
        done += run_with_checkpoints(4, strategy, files, {.after_step = step})[0].resumed.found;
    CHECK(done == 9);
    CHECK(same_runs(whole, run_with_checkpoints(4, strategy, files)));
}

TEST_CASE("it makes no difference what a checkpoint's messages go through") {
    const all_reduce strategy{sgd{.learning_rate = 0.0625}, sensible<dgc>::options()};
    const auto whole = run_with_checkpoints(3, strategy, memory_files{});
    const auto check = [&]<class Over>() {
        memory_files files;
        run_with_checkpoints<Over>(3, strategy, files, {.after_step = 8});
        CHECK(same_runs(whole, run_with_checkpoints<Over>(3, strategy, files)));
    };
    check.operator()<testing::over_metered>();
    check.operator()<testing::over_group>();
    check.operator()<testing::over_group_of_group>();
}

TEST_CASE("ranks with data of their own go on where each was") {
    const all_reduce strategy{momentum_sgd{.learning_rate = 0.0625}};
    testing::interruption how{.own = {30, 17, 40}};
    const auto whole = run_with_checkpoints(3, strategy, memory_files{}, how);
    memory_files files;
    how.after_step = 5;
    run_with_checkpoints(3, strategy, files, how);
    how.after_step = 0;
    CHECK(same_runs(whole, run_with_checkpoints(3, strategy, files, how)));
}

TEST_CASE(
    "a damaged newest checkpoint is named, the one before it is used, and the end is the same") {
    const all_reduce strategy{sgd{.learning_rate = 0.0625}, sensible<dgc>::options()};
    const auto whole = run_with_checkpoints(3, strategy, memory_files{});
    memory_files files;
    run_with_checkpoints(3, strategy, files, {.after_step = 9});
    damage_newest(files);
    const auto resumed = run_with_checkpoints(3, strategy, files);
    for (const checkpointed& rank : resumed) {
        CHECK(rank.resumed.step == 7);
        CHECK(rank.resumed.file == testing::in_run("checkpoint-000000000007.safetensors"));
        CHECK(rank.resumed.world_size == 3);
        CHECK(rank.resumed.refused.find("'" +
                                        testing::in_run("checkpoint-000000000008.safetensors") +
                                        "' is damaged: section '") == 0);
    }
    CHECK(same_runs(whole, resumed));
    CHECK(files.disk().names.size() == 2);
}

TEST_CASE("a run that was complete is resumed to what it was, and measured again") {
    memory_files files;
    const testing::numbered data{40}, unseen{10};
    const auto run = [&] {
        fit_report report;
        run_in_process(2, [&](in_process& transport) {
            testing::number_model model;
            trainer trainer{model, all_reduce{}, transport, {.batch_size = 4}};
            trainer.try_resume("run", {}, files);
            const auto mine =
                trainer.fit(data, epochs{3}, checkpoints{"run", {}, files}, evaluate_on{unseen});
            if (transport.rank() == 0) report = mine;
        });
        return report;
    };
    const fit_report first = run(), again = run();
    CHECK(first.epochs == 3);
    CHECK(again.epochs == 0);
    CHECK(again.steps == 0);
    CHECK(again.step == first.step);
    REQUIRE(again.evaluated.has_value());
    CHECK(again.evaluated->loss == first.evaluated->loss);
}

TEST_CASE("without a checkpoint, resume says so and try_resume does nothing") {
    memory_files files;
    const auto thrown = testing::thrown_by(3, [&](in_process& transport) {
        testing::number_model model;
        trainer trainer{model, all_reduce{}, transport};
        CHECK_FALSE(trainer.try_resume("run", {}, files).found);
        CHECK(trainer.step() == 0);
        CHECK_THROWS_WITH_AS(
            trainer.resume("run", {}, files),
            ("resume: there is no checkpoint in '" + testing::in_run() + "'").c_str(), io_failure);
        CHECK(trainer.fit(testing::numbered{30}, epochs{1}).epochs == 1);
    });
    CHECK(testing::text_of(thrown) == "nothing");
}

TEST_CASE("where no checkpoint is whole, all ranks say what is wrong with each") {
    const all_reduce strategy{sgd{.learning_rate = 0.0625}};
    memory_files files;
    run_with_checkpoints(2, strategy, files, {.length = steps{2}});
    for (auto& [name, file] : files.disk().names) file->now.pop_back();
    const auto thrown = testing::thrown_by(2, [&](in_process& transport) {
        testing::remembering_model model;
        trainer trainer{model, strategy, transport, {.batch_size = 4, .seed = 7}};
        for (const bool required : {true, false}) try {
                required ? trainer.resume("run", {}, files) : trainer.try_resume("run", {}, files);
                FAIL("resumed from a damaged file");
            } catch (const error& e) {
                CHECK(e.code() == make_error_code(errc::malformed));
                const std::string text = e.what();
                CHECK(text.find("resume: no checkpoint in '" + testing::in_run() +
                                "' is whole; ") == 0);
                CHECK(text.find("checkpoint-000000000002") < text.find("checkpoint-000000000001"));
                CHECK(text.find("checkpoint-000000000001") != text.npos);
            }
    });
    CHECK(testing::text_of(thrown) == "nothing");
}

TEST_CASE("a checkpoint of another configuration is refused by the first option that differs") {
    memory_files files;
    run_with_checkpoints(2, all_reduce{sgd{.learning_rate = 0.0625}, dgc{}}, files,
                         {.length = steps{2}});
    const auto why = [&](const auto& strategy,
                         training_options options = {.batch_size = 4, .seed = 7}) {
        std::string text;
        run_in_process(2, [&](in_process& transport) {
            testing::remembering_model model;
            trainer trainer{model, strategy, transport, options};
            try {
                trainer.resume("run", {}, files);
            } catch (const mismatch& e) {
                if (transport.rank() == 1) text = e.what();
            }
        });
        return text;
    };
    const std::string file = "'" + testing::in_run("checkpoint-000000000002.safetensors") +
                             "' is no checkpoint of this run: it was written with ";
    CHECK(why(all_reduce{sgd{.learning_rate = 0.0625}, dgc{}}) == "");
    CHECK(why(all_reduce{sgd{.learning_rate = 0.125}, dgc{}}) ==
          file +
              "'strategy.optimizer.learning_rate = 0.0625' where this run has "
              "'strategy.optimizer.learning_rate = 0.125'");
    CHECK(why(all_reduce{sgd{.learning_rate = 0.0625}, dgc{.density = 0.01}}) ==
          file +
              "'strategy.compressor.selector.density = 0.001' where this run has "
              "'strategy.compressor.selector.density = 0.01'");
    CHECK(why(all_reduce{sgd{.learning_rate = 0.0625}, dgc{}}, {.batch_size = 4, .seed = 8}) ==
          file + "'trainer.seed = 7' where this run has 'trainer.seed = 8'");
    CHECK(why(all_reduce{sgd{.learning_rate = 0.0625}}) ==
          file +
              "'strategy.compressor = dgc' where this run has "
              "'strategy.compressor = dense_values'");
}

TEST_CASE("another run's folder is refused before anything in it is lost") {
    memory_files files;
    const all_reduce strategy{sgd{.learning_rate = 0.0625}};
    run_with_checkpoints(2, strategy, files, {.length = steps{8}});
    const auto before = files.disk().names.size();
    run_in_process(2, [&](in_process& transport) {
        testing::remembering_model model;
        trainer trainer{model, strategy, transport, {.batch_size = 4, .seed = 7}};
        CHECK_THROWS_WITH_AS(
            trainer.fit(testing::numbered{70}, steps{2}, checkpoints{"run", {}, files}),
            ("checkpoints: '" + testing::in_run() +
             "' holds checkpoint-000000000008.safetensors of "
             "another run, and this one is at step 0: resume from it, or give a folder of its own")
                .c_str(),
            invalid_option);
        CHECK(trainer.step() == 0);
    });
    CHECK(files.disk().names.size() == before);
}
