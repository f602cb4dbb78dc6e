#include "sotto/checkpoint/detail/posix_files.hpp"
#include "sotto/strategies/codistillation.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <functional>
#include <numeric>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "sotto/checkpoint/detail/group_folders.hpp"
#include "sotto/checkpoint/detail/published_model.hpp"
#include "sotto/compressors/top_k.hpp"
#include "sotto/core/errors.hpp"
#include "sotto/data/digits.hpp"
#include "sotto/data/labelled_batch.hpp"
#include "sotto/data/labelled_set.hpp"
#include "sotto/distillation/forward_kl.hpp"
#include "sotto/models/mlp.hpp"
#include "sotto/optimizers/momentum_sgd.hpp"
#include "sotto/strategies/all_reduce.hpp"
#include "sotto/strategies/detail/codistillation/architecture_of.hpp"
#include "sotto/strategies/codistillation/exchanges/transport_exchange.hpp"
#include "sotto/trainer/checkpoints.hpp"
#include "sotto/logging/run_recorder.hpp"
#include "sotto/trainer/trainer.hpp"
#include "sotto/transports/run_in_process.hpp"
#include "sotto/transports/run_simulated.hpp"
#include "support/apart.hpp"
#include "support/folders.hpp"

using namespace sotto;
using detail::architecture_of;
using testing::apart, testing::scratch_folder;

namespace {

const all_reduce<momentum_sgd> inner{momentum_sgd{.learning_rate = 0.05, .momentum = 0.9}};
const auto examples = data::digits(240, random_stream{3});

std::filesystem::path models_of(const scratch_folder& folder, int group) {
    return detail::checkpoint::models_folder(folder.path(), group);
}

struct left {
    std::vector<float> parameters;
    std::vector<detail::taught_report> taught;
    std::vector<detail::teacher_status> teachers;
    fit_report report;
    evaluation found;
};

template <class Strategy>
std::vector<left> train_groups(int ranks, const Strategy& strategy, std::int64_t count = 24,
                               std::uint64_t seed = 5) {
    std::vector<left> all(static_cast<std::size_t>(ranks));
    run_in_process(ranks, [&](auto& transport) {
        models::mlp model{784, 12, 10};
        trainer trainer{model, strategy, transport, {.batch_size = 10, .seed = seed}};
        left& mine = all[static_cast<std::size_t>(transport.rank())];
        mine.report = trainer.fit(examples, steps{count}, [&](const step_report& step) {
            mine.taught.push_back(step.round.taught);
        });
        mine.parameters.assign(trainer.parameters().begin(), trainer.parameters().end());
        mine.found = trainer.evaluate(examples);
        if constexpr (requires { trainer.state().teachers(); })
            mine.teachers.assign(trainer.state().teachers().begin(),
                                 trainer.state().teachers().end());
    });
    return all;
}

auto taught_in(const scratch_folder& folder, codistillation_groups groups, double weight = 1.0) {
    return codistillation{inner, forward_kl{},
                          checkpoint_exchange{.folder = folder.path(), .in_background = false},
                          groups, constant_weight{weight}};
}

/// An exchange whose teachers have a model of step 7, which takes some rounds to read.
struct slow_exchange {
    std::vector<int> rounds{};  // of each teacher; -1: it has no model

    struct state {
        std::vector<int> rounds, asked;
        std::vector<float> own;  // who teaches knows what its student did

        void publish(const detail::checkpoint::architecture&,
                     const detail::checkpoint::published_facts&, std::span<const float> parameters,
                     std::span<const float>, std::span<const int>) {
            own.assign(parameters.begin(), parameters.end());
        }
        bool ready(const detail::checkpoint::architecture&, int group, std::int64_t) {
            const auto which = static_cast<std::size_t>(group);
            return ++asked[which] > rounds[which];
        }
        std::optional<detail::checkpoint::published_model> look(
            const detail::checkpoint::architecture&, int group, std::int64_t after) {
            const auto which = static_cast<std::size_t>(group);
            CHECK(std::exchange(asked[which], 0) > rounds[which]);
            if (rounds[which] < 0 || after == 7) return std::nullopt;
            detail::checkpoint::published_model found;
            found.facts.step = 7;
            found.parameters = own;
            return found;
        }
        std::string problem() const { return {}; }
    };

    auto bind(const auto&) const { return state{rounds, std::vector<int>(rounds.size()), {}}; }
    void describe(auto&&) const {}
};

/// An exchange whose second model cannot be published, and which leaves out the third.
struct faltering {
    struct state {
        int tries = 0;

        void publish(const detail::checkpoint::architecture&,
                     const detail::checkpoint::published_facts&, std::span<const float>,
                     std::span<const float>, std::span<const int>) {
            ++tries;
        }
        std::optional<detail::checkpoint::published_model> look(
            const detail::checkpoint::architecture&, int, std::int64_t) const {
            return std::nullopt;
        }
        std::string problem() const { return tries == 2 ? "no room" : ""; }
        std::int64_t skipped() const { return tries >= 3 ? 1 : 0; }
        std::int64_t bytes_sent() const { return 7 * std::min(tries, 2); }
    };

    auto bind(const auto&) const { return state{}; }
    void describe(auto&&) const {}
};

/// What a run on one rank keeps of all that its strategy tells.
template <class Strategy>
run_log recorded(
    const Strategy& strategy, std::int64_t count,
    const std::function<void(const step_report&)>& after = [](const step_report&) {}) {
    run_recorder recorder;
    run_in_process(1, [&](auto& transport) {
        models::mlp model{784, 12, 10};
        trainer trainer{model, strategy, transport, {.batch_size = 10, .seed = 5}};
        trainer.fit(examples, steps{count}, recorder, after);
    });
    return recorder.log();
}

}  // namespace

TEST_CASE("with weight 0, or in the burn-in, groups train as if alone, to the last bit") {
    const scratch_folder folder("codistillation_alone");
    const auto alone = train_groups(4, apart{inner});
    CHECK(alone[0].parameters == alone[1].parameters);
    CHECK(alone[2].parameters == alone[3].parameters);
    CHECK(alone[0].parameters != alone[2].parameters);
    for (const auto& strategy :
         {taught_in(folder, {.every = 5}, 0.0), taught_in(folder, {.every = 5, .burn_in = 24})}) {
        const auto taught = train_groups(4, strategy);
        for (std::size_t rank = 0; rank < 4; ++rank) {
            CHECK(taught[rank].parameters == alone[rank].parameters);
            CHECK(taught[rank].found.loss == alone[rank].found.loss);
            for (const detail::taught_report& round : taught[rank].taught)
                CHECK(round.teachers == 0);
        }
    }
}

TEST_CASE(
    "a group without others trains as if alone, to the last bit, however it would meet them") {
    const scratch_folder folder("codistillation_one");
    const auto alone = train_groups(2, apart{inner, 1});
    const codistillation_groups one{.count = 1, .every = 5};
    const auto check = [&](const auto& strategy) {
        const auto found = train_groups(2, strategy);
        for (std::size_t rank = 0; rank < 2; ++rank) {
            CHECK(found[rank].parameters == alone[rank].parameters);
            CHECK(found[rank].found.loss == alone[rank].found.loss);
            CHECK(found[rank].teachers.empty());
            for (const detail::taught_report& round : found[rank].taught) {
                CHECK(round.teachers == 0);
                CHECK(round.age == 0);
                CHECK(round.weight == 0.0);
                CHECK(round.distillation_loss == 0.0);
                CHECK(round.agreement == 0.0);
            }
        }
    };
    check(taught_in(folder, one));
    check(codistillation{inner, forward_kl{}, transport_exchange<>{}, one});
    check(codistillation{inner, forward_kl{}, transport_exchange{top_k{.density = 0.1}}, one});
}

TEST_CASE("groups stay in step inside, and learn from each other's models of the interval") {
    const scratch_folder folder("codistillation_interval");
    const auto taught = train_groups(4, taught_in(folder, {.every = 5, .burn_in = 3}));
    CHECK(taught[0].parameters == taught[1].parameters);
    CHECK(taught[2].parameters == taught[3].parameters);
    CHECK(taught[0].parameters != taught[2].parameters);
    CHECK(taught[0].parameters != train_groups(4, apart{inner})[0].parameters);
    for (const left& rank : taught) {
        REQUIRE(rank.taught.size() == 24);
        std::int64_t first = 0;  // step with a teacher
        for (std::int64_t step = 0; step < 24; ++step) {
            const detail::taught_report& round = rank.taught[static_cast<std::size_t>(step)];
            CHECK(round.teachers <= 1);
            if (round.teachers == 0) {
                CHECK(first == 0);
                continue;
            }
            if (first == 0) first = step;
            // Never what is not published yet, and at the latest what was there an interval ago
            // where both groups go at the same pace.
            CHECK(step >= 5);
            CHECK((step - round.age) % 5 == 0);
            CHECK(round.weight == 1.0);
            CHECK(round.distillation_loss > 0.0);
            CHECK(round.agreement >= 0.0);
            CHECK(round.agreement <= 1.0);
        }
        CHECK(rank.teachers.size() == 1);
    }
    // One rank of each group writes: a model every interval, whoever reads it.
    const std::int64_t model = 4 * models::mlp{784, 12, 10}.layout().size();
    for (std::size_t rank = 0; rank < 4; ++rank)
        for (std::size_t step = 0; step < 24; ++step)
            CHECK(taught[rank].taught[step].bytes_sent ==
                  (rank % 2 == 0 && step > 0 && step % 5 == 0 ? model : 0));
    std::error_code why;
    detail::checkpoint::posix_files files;
    for (const int group : {0, 1})
        CHECK(detail::checkpoint::generations(files, models_of(folder, group), why) ==
              std::vector<std::int64_t>{20, 15});
}

TEST_CASE("published models and checkpoints in one folder leave each other alone") {
    const scratch_folder folder("codistillation_one_folder");
    const auto strategy = taught_in(folder, {.every = 5}, 0.0);
    std::vector<std::vector<float>> saved(2), resumed(2);
    const auto train_to = [&](std::int64_t end, bool resumes, auto& left) {
        run_in_process(2, [&](auto& transport) {
            models::mlp model{784, 12, 10};
            trainer trainer{model, strategy, transport, {.batch_size = 10, .seed = 5}};
            if (resumes) CHECK(trainer.resume(folder.path()).step == 12);
            const fit_report report = trainer.fit(
                examples, steps{end}, checkpoints{folder.path(), {.every_steps = 3, .keep = 2}});
            CHECK(report.checkpoints_failed == 0);
            left[static_cast<std::size_t>(transport.rank())].assign(trainer.parameters().begin(),
                                                                    trainer.parameters().end());
        });
    };
    train_to(12, false, saved);
    detail::checkpoint::posix_files files;
    std::error_code why;
    models::mlp model{784, 12, 10};
    for (const int group : {0, 1}) {
        CHECK(detail::checkpoint::generations(
                  files, detail::checkpoint::group_folder(folder.path(), group), why) ==
              std::vector<std::int64_t>{12, 9});
        CHECK(detail::checkpoint::generations(files, models_of(folder, group), why) ==
              std::vector<std::int64_t>{10, 5});
        const auto found = detail::checkpoint::read_published(files, models_of(folder, group),
                                                              architecture_of(model));
        REQUIRE(found);
        CHECK(found->facts.step == 10);
        CHECK(found->parameters != saved[static_cast<std::size_t>(group)]);
    }
    train_to(12, true, resumed);
    CHECK(resumed == saved);
}

TEST_CASE("a group that is a job of its own learns from what is in the folder") {
    const scratch_folder folder("codistillation_jobs");
    auto first = taught_in(folder, {.every = 5, .only = 0}), second = first;
    second.groups.only = 1;
    const auto before = train_groups(2, first);
    for (const detail::taught_report& round : before[0].taught) CHECK(round.teachers == 0);
    CHECK(before[0].teachers[0].why == detail::left_out::absent);
    const auto after = train_groups(2, second);
    CHECK(after[0].parameters == after[1].parameters);
    for (std::size_t step = 0; step < 24; ++step) {
        const detail::taught_report& round = after[0].taught[step];
        CHECK(round.teachers == (step < 5 ? 0 : 1));
        if (step >= 5) CHECK(round.age == static_cast<std::int64_t>(step) - 20);
    }
}

TEST_CASE("what a teacher is to be left out for leaves the student as if alone") {
    const scratch_folder folder("codistillation_bad"), none("codistillation_none");
    const auto alone = train_groups(1, taught_in(none, {.every = 4, .only = 0}));
    models::mlp model{784, 12, 10};
    detail::checkpoint::architecture kind = architecture_of(model);
    std::vector<float> weights(static_cast<std::size_t>(kind.parameters.size()));
    detail::checkpoint::posix_files files;
    const auto publish = [&](std::int64_t step = 3) {
        REQUIRE(detail::checkpoint::publish_model(files, models_of(folder, 1), kind,
                                                  {.step = step, .architecture = kind.identity()},
                                                  weights, {}) == "");
    };
    const auto ends = [&](detail::left_out why) {
        const auto taught = train_groups(1, taught_in(folder, {.every = 4, .only = 0}));
        CHECK(taught[0].parameters == alone[0].parameters);
        CHECK(taught[0].teachers[0].why == why);
    };
    SUBCASE("not finite") {
        weights[7] = std::nanf("");
        publish();
        ends(detail::left_out::not_finite);
    }
    SUBCASE("left by an earlier training, whose group has not begun yet") {
        model.initialise(weights, random_stream{1});
        publish(1450);
        ends(detail::left_out::too_far_ahead);
    }
    SUBCASE("worse") {
        model.initialise(weights, random_stream{1});
        for (float& weight : weights) weight *= 40.0f;
        publish();
        ends(detail::left_out::worse);
    }
    SUBCASE("of another architecture") {
        kind.description = "another's";
        publish();
        ends(detail::left_out::other_architecture);
    }
    SUBCASE("too old") {
        model.initialise(weights, random_stream{1});
        publish(2);
        auto strategy = taught_in(folder, {.every = 4, .only = 0});
        strategy.teachers.age_max = 1;  // it is 2 steps old when it is first looked at
        const auto taught = train_groups(1, strategy);
        CHECK(taught[0].parameters == alone[0].parameters);
        CHECK(taught[0].teachers[0].why == detail::left_out::too_old);
        strategy.teachers.age_max = 2;
        const auto heard = train_groups(1, strategy);
        CHECK(heard[0].parameters != alone[0].parameters);
        for (std::size_t step = 4; step < 24; ++step)
            CHECK(heard[0].taught[step].teachers == (step < 8 ? 1 : 0));
    }
    SUBCASE("torn") {
        publish();
        const auto file = models_of(folder, 1) / detail::checkpoint::file_name(3);
        std::filesystem::resize_file(file, std::filesystem::file_size(file) / 2);
        ends(detail::left_out::unreadable);
    }
    SUBCASE("unreadable") {
        std::filesystem::create_directories(models_of(folder, 1) /
                                            detail::checkpoint::file_name(3));
        ends(detail::left_out::unreadable);
    }
}

TEST_CASE("a model that takes rounds to read is heard by all of its group once it is read") {
    const auto teachers = [](const std::vector<int>& rounds) {
        const auto ranks = train_groups(
            2, codistillation{inner, forward_kl{}, slow_exchange{.rounds = rounds},
                              codistillation_groups{.count = 3, .every = 8, .only = 2}});
        CHECK(ranks[0].parameters == ranks[1].parameters);
        std::vector<std::int64_t> heard;  // in each step
        for (std::size_t step = 0; step < 24; ++step) {
            const detail::taught_report& round = ranks[0].taught[step];
            CHECK(ranks[1].taught[step].teachers == round.teachers);
            CHECK(ranks[1].taught[step].age == round.age);
            heard.push_back(round.teachers);
            if (round.teachers > 0) CHECK(round.age == static_cast<std::int64_t>(step) - 7);
        }
        return heard;
    };
    const auto from = [](std::size_t one, std::size_t two) {
        std::vector<std::int64_t> heard(24);
        for (std::size_t step = 0; step < 24; ++step) heard[step] = (step >= one) + (step >= two);
        return heard;
    };
    CHECK(teachers({0, 0}) == from(8, 8));
    CHECK(teachers({3, 0}) == from(11, 8));
    CHECK(teachers({3, 5}) == from(11, 13));
    CHECK(teachers({10, -1}) == from(18, 24));  // still being read when the next is due
    CHECK(teachers({99, 99}) == from(24, 24));
}

TEST_CASE("jobs whose data overlap, as their seeds or groups differ, do not teach each other") {
    const auto why = [](codistillation_groups first, codistillation_groups second,
                        std::uint64_t seed) {
        const scratch_folder folder("codistillation_deal");
        first.every = second.every = 5;
        first.only = 0;
        second.only = 1;
        train_groups(1, taught_in(folder, first), 12);
        const auto after = train_groups(1, taught_in(folder, second), 12, seed);
        const auto& teacher = after[0].teachers[0];
        CHECK(after[0].taught.back().teachers == (teacher.why == detail::left_out::no));
        return std::pair(teacher.why, teacher.details);
    };
    const std::pair heard(detail::left_out::no, std::string());
    CHECK(why({}, {}, 5) == heard);
    CHECK(why({}, {}, 6) ==
          std::pair(detail::left_out::other_deal,
                    std::string("'240 to 2 shards, 0 in common, by seed 5'; expected '240 to 2 "
                                "shards, 0 in common, by seed 6'")));
    CHECK(why({}, {.count = 3}, 5).first == detail::left_out::other_deal);
    CHECK(why({}, {.common = 0.5}, 5).first == detail::left_out::other_deal);
    CHECK(why({.common = 1.0}, {.common = 1.0}, 6) == heard);
}

TEST_CASE("a group that begins anew removes its own earlier models, one that goes on does not") {
    const scratch_folder folder("codistillation_anew"), saved("codistillation_anew_saved");
    const auto strategy = taught_in(folder, {.every = 5, .only = 1}, 0.0);
    detail::checkpoint::posix_files files;
    std::error_code why;
    const auto left = [&] {
        return detail::checkpoint::generations(files, models_of(folder, 1), why);
    };
    using steps_left = std::vector<std::int64_t>;
    const auto go_on = [&](std::int64_t end) {
        run_in_process(2, [&](auto& transport) {
            models::mlp model{784, 12, 10};
            trainer trainer{model, strategy, transport, {.batch_size = 10, .seed = 5}};
            trainer.try_resume(saved.path());
            trainer.fit(examples, steps{end}, checkpoints{saved.path()});
        });
    };
    go_on(12);
    CHECK(left() == steps_left{10, 5});
    go_on(14);
    CHECK(left() == steps_left{10, 5});
    train_groups(2, strategy, 4);
    CHECK(left().empty());
}

TEST_CASE("two jobs of one group are refused by the second") {
    const scratch_folder folder("codistillation_twice");
    const auto first = taught_in(folder, {.every = 5, .only = 1}, 0.0);
    auto other = first;
    other.groups.only = 0;
    run_in_process(1, [&](auto& transport) {
        models::mlp model{784, 12, 10};
        trainer trainer{model, first, transport, {.batch_size = 10}};
        trainer.fit(examples, steps{1});
        CHECK_THROWS_WITH_AS(
            train_groups(1, first, 1),
            ("checkpoint_exchange: group 1 in '" + folder.path().string() +
             "': another process publishes its models; expected one writer a group")
                .c_str(),
            io_failure);
        train_groups(1, other, 1);
        trainer.fit(examples, steps{1});
    });
    train_groups(1, first, 1);
}

TEST_CASE("a group that has learnt other labels is never heard, whatever it says of its student") {
    // The same digits, called by the next one's name.
    const auto right = data::digits(400, random_stream{3});
    std::vector<std::int64_t> all(400);
    std::iota(all.begin(), all.end(), 0);
    data::labelled_batch batch;
    right.gather(all, batch);
    std::vector<std::int32_t> next(batch.labels().begin(), batch.labels().end());
    for (std::int32_t& label : next) label = (label + 1) % 10;
    const data::labelled_set wrong(
        right.shape(), std::vector<float>(batch.inputs().begin(), batch.inputs().end()), next);
    std::vector<std::vector<float>> ends;
    std::vector<double> claimed;  // of the first group's model, by the second
    for (const double weight : {0.0, 1.0})
        run_simulated(2, {}, [&](simulated& transport) {
            models::mlp model{784, 12, 10};
            const codistillation strategy{inner, forward_kl{}, transport_exchange<>{},
                                          codistillation_groups{.every = 10, .burn_in = 60},
                                          constant_weight{weight}};
            trainer trainer{model, strategy, transport, {.batch_size = 20, .seed = 5}};
            const bool is_first = transport.rank() == 0;
            trainer.fit(is_first ? right : wrong, steps{120}, [&](const step_report& step) {
                if (weight == 0.0 || step.step <= 70) return;
                const detail::teacher_status& other = step.round.taught.standings[0];
                CHECK(step.round.taught.teachers == 0);
                CHECK(other.why == detail::left_out::worse);
                if (!is_first) claimed.push_back(other.label_loss);
            });
            if (is_first)
                ends.emplace_back(trainer.parameters().begin(), trainer.parameters().end());
        });
    CHECK(ends[0] == ends[1]);
    REQUIRE(!claimed.empty());
    CHECK(claimed.back() > 4.0);
}

TEST_CASE("each round tells what was published in it, what was not, and why") {
    const codistillation strategy{inner, forward_kl{}, faltering{},
                                  codistillation_groups{.every = 5, .only = 0}};
    run_in_process(1, [&](auto& transport) {
        models::mlp model{784, 12, 10};
        trainer trainer{model, strategy, transport, {.batch_size = 10, .seed = 5}};
        const auto report = trainer.fit(examples, steps{20}, [&](const step_report& step) {
            const detail::taught_report& round = step.round.taught;
            const std::int64_t done = step.step - 1;  // steps before it
            CHECK(round.bytes_sent == (done == 5 || done == 10 ? 7 : 0));
            CHECK(round.skipped == (done == 15 ? 1 : 0));
            CHECK(round.problem == (done >= 10 && done < 15 ? "no room" : ""));
        });
        CHECK(report.total.taught.bytes_sent == 14);
        CHECK(report.total.taught.skipped == 1);
    });
    const detail::published_record found = recorded(strategy, 13).taught.record.published();
    CHECK(found.problem == "no room");
    CHECK(found.since == 11);
    CHECK(recorded(strategy, 16).taught.record.published().problem == "");
}

TEST_CASE("a folder that can no longer be written to is told of, and training goes on") {
    const scratch_folder folder("codistillation_unwritable");
    const run_log log =
        recorded(taught_in(folder, {.every = 4, .only = 0}), 10, [&](const step_report& step) {
            if (step.step == 1) std::ofstream(models_of(folder, 0)) << "a file";
        });
    CHECK(log.steps == 10);
    const detail::published_record& found = log.taught.record.published();
    CHECK(found.since == 5);
    CHECK(found.problem.find("group-0") != std::string::npos);
    CHECK(found.problems == 1);
}

TEST_CASE("groups that cannot be are refused by name") {
    const scratch_folder folder("codistillation_refused");
    const auto why = [&](codistillation_groups groups) -> std::string {
        try {
            train_groups(2, taught_in(folder, groups), 1);
        } catch (const invalid_option& e) {
            return e.what();
        }
        return "";
    };
    CHECK(why({.count = 3}) ==
          "codistillation_groups: count is 3; it must be at least 1 and at most 2, the number of "
          "ranks");
    CHECK(why({.count = 0}) == "codistillation_groups: count is 0; it must be at least 1");
    CHECK(why({.every = 0}) == "codistillation_groups: every is 0; it must be at least 1");
    CHECK(why({.burn_in = -1}) == "codistillation_groups: burn_in is -1; it must be at least 0");
    for (const int only : {2, -2})
        CHECK(why({.only = only}) ==
              "codistillation_groups: only is " + std::to_string(only) +
                  "; it must be at least -1 and below 2, the number of groups");
    CHECK(why({.only = -1}) == "");
}
