#include "sotto/logging/consensus_maxima.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

#include "sotto/strategies/gossip/control/consensus_control.hpp"
#include "sotto/optimizers/scheduled.hpp"
#include "sotto/optimizers/schedules.hpp"
#include "sotto/strategies/all_reduce.hpp"
#include "sotto/strategies/gossip.hpp"
#include "sotto/strategies/local_updates.hpp"
#include "sotto/topologies/complete.hpp"
#include "sotto/topologies/random_matching.hpp"
#include "sotto/logging/json_lines.hpp"
#include "sotto/logging/run_recorder.hpp"
#include "sotto/trainer/trainer.hpp"
#include "sotto/transports/run_in_process.hpp"
#include "support/folders.hpp"
#include "support/numbers.hpp"

using namespace sotto;

namespace {

/// What rank 0 was told, and what it recorded.
struct ended {
    std::vector<std::pair<double, detail::consensus_report>> told;  // with the epoch
    run_log recorded;
};

template <class Strategy>
ended run(const Strategy& strategy, const std::filesystem::path& log, std::int64_t passes = 4,
          int ranks = 4, std::int64_t examples = 24) {
    ended found;
    run_in_process(ranks, [&](in_process& transport) {
        testing::number_model model;
        trainer trainer{model, strategy, transport, {.batch_size = 2}};
        json_lines lines(log);
        run_recorder recorder("recorded");
        trainer.fit(testing::numbered{examples}, epochs{passes}, lines, recorder,
                    [&](const step_report& step) {
                        if (transport.rank() != 0) return;
                        found.told.emplace_back(step.epoch, step.round.consensus);
                        found.told.back().second.squared_changes = {};
                        found.told.back().second.squared_distances = {};
                    });
        if (transport.rank() == 0) found.recorded = recorder.log();
    });
    return found;
}

template <class Control>
auto ring_of(const Control& control, std::int64_t measure_every) {
    return gossip{sgd{.learning_rate = 0.0625},
                  topologies::ring{},
                  control,
                  none{},
                  mixing::adapt_then_combine{},
                  {.measure_every = measure_every}};
}

bool same(double a, double b) {
    return a == b || (std::isnan(a) && std::isnan(b));
}

std::vector<nlohmann::json> lines_of(const std::filesystem::path& path, const char* event) {
    std::vector<nlohmann::json> found;
    std::ifstream in(path);
    for (std::string line; std::getline(in, line);)
        if (auto parsed = nlohmann::json::parse(line); parsed["event"] == event)
            found.push_back(std::move(parsed));
    return found;
}

}  // namespace

TEST_CASE("maxima that a run writes to its log are read, phase by phase, and kept below") {
    const testing::scratch_folder folder("maxima");
    const auto log = folder.path() / "ring.jsonl";
    const ended uncontrolled = run(ring_of(no_control{}, 1), log);
    // Roots of mean squares, of [1/2, 1), [2, 3) and [3 1/2, 4).
    const auto of = [&](double from, double to) {
        double sum = 0.0, steps = 0.0;
        for (const auto& [epoch, found] : uncontrolled.told)
            if (epoch >= from && epoch < to) {
                sum += found.distance * found.distance;
                ++steps;
            }
        return std::sqrt(sum / steps);
    };
    const double expected[] = {of(0.5, 1.0), of(2.0, 3.0), of(3.5, 4.0)};
    const auto maxima = consensus_maxima(log, {0.0, 1.0, 3.0});
    REQUIRE(maxima.size() == 3);
    for (std::size_t phase = 0; phase < 3; ++phase)
        CHECK(maxima[phase].distance == doctest::Approx(expected[phase]).epsilon(1e-12));
    CHECK(maxima[1].from_epoch == 1.0);
    CHECK(maxima[0].distance > 0.0);
    CHECK(consensus_maxima(uncontrolled.recorded, std::vector{0.0, 1.0, 3.0}) == maxima);

    const fraction_of_maximum control{.fraction = 0.25, .maxima = maxima};
    const ended kept = run(ring_of(control, 0), folder.path() / "kept.jsonl");
    std::int64_t rounds = 0;
    for (const auto& [epoch, found] : kept.told) {
        const std::size_t phase = epoch < 1.0 ? 0 : epoch < 3.0 ? 1 : 2;
        CHECK(found.target == 0.25 * maxima[phase].distance);
        CHECK(found.distance <= found.target);
        rounds += found.rounds;
    }
    CHECK(rounds > std::ssize(kept.told));
}

TEST_CASE("after a decay the maximum is what the new rate keeps, not what the old one left over") {
    const testing::scratch_folder folder("decay");
    const gossip decaying{scheduled{sgd{.learning_rate = 0.0625}, step_decay{.every_epochs = 4.0}},
                          topologies::ring{},
                          no_control{},
                          none{},
                          mixing::adapt_then_combine{},
                          {.measure_every = 1}};
    const auto log = folder.path() / "ring.jsonl";
    const ended found = run(decaying, log, 12, 8, 192);
    const auto maxima = consensus_maxima(log, {0.0, 4.0, 8.0});
    // Gradients are noise here, of the same strength in all phases: distances are as the rate.
    CHECK(maxima[1].distance == doctest::Approx(0.1 * maxima[0].distance).epsilon(0.25));
    CHECK(maxima[2].distance == doctest::Approx(0.01 * maxima[0].distance).epsilon(0.25));
    const auto largest = std::ranges::max(found.told, {}, [](const auto& told) {
        return told.first >= 8.0 ? told.second.distance : 0.0;
    });
    CHECK(largest.second.distance > 3.0 * maxima[2].distance);  // the decay's first step
}

TEST_CASE("a warm-up and what is left over have no part in a phase's maximum, in any phase") {
    // Made up: a level of 2, then of 0.2, to which the distance comes in 2 epochs from 4 and 8.
    run_log log;
    log.begin({.world_size = 4});
    for (std::int64_t s = 0; s < 1600; ++s) {
        const double epoch = 0.01 * static_cast<double>(s);
        const double within = std::fmod(epoch, 8.0), level = epoch < 8.0 ? 2.0 : 0.2;
        const double distance = within < 2.0 ? level + (4.0 - 2.0 * within) : level;
        log.add(run_log::step{
            .number = s + 1, .epoch = epoch, .consensus = {.rounds = 1, .distance = distance}});
    }
    const auto maxima = consensus_maxima(log, std::vector{0.0, 8.0});
    CHECK(maxima[0].distance == doctest::Approx(2.0));
    CHECK(maxima[1].distance == doctest::Approx(0.2));
    // A last phase that ends inside an epoch is halved where it ended.
    CHECK(consensus_maxima(log, std::vector{0.0, 15.0})[1].distance == doctest::Approx(0.2));
}

TEST_CASE("what is read of a run's distances is what a recorder kept") {
    const testing::scratch_folder folder("distances");
    const auto path = folder.path() / "run.jsonl";
    const ended found = run(ring_of(consensus_control{.rho = 0.1}, 3), path);
    const run_log read = read_json_lines(path);
    CHECK(read.points == found.recorded.points);
    CHECK(read.consensus.is_told);
    CHECK(read.total.study_bytes > 0.0);
    CHECK(read.total.study_bytes < read.total.bytes_sent);
    CHECK(read.total.study_bytes == found.recorded.total.study_bytes);
    CHECK(read.consensus.aimed == static_cast<double>(found.told.size()));
    CHECK(read.consensus.rounds == found.recorded.consensus.rounds);
    CHECK(read.consensus.step_length() == found.recorded.consensus.step_length());
    CHECK(read.consensus.step_length() > 0.0);
    REQUIRE(read.consensus.squared_changes().size() == read.about.tensors.size());
    CHECK(std::ranges::equal(read.consensus.squared_changes(),
                             found.recorded.consensus.squared_changes()));
    REQUIRE(read.consensus.squared_distances().size() == read.about.tensors.size());
    CHECK(std::ranges::equal(read.consensus.squared_distances(),
                             found.recorded.consensus.squared_distances()));
    REQUIRE(read.consensus.halves.size() == 8);
    for (std::size_t i = 0; i < 8; ++i)
        CHECK(read.consensus.halves[i].number == static_cast<std::int64_t>(i));
    CHECK(read.consensus.halves == found.recorded.consensus.halves);
    double rounds = 0.0;
    for (const auto& [epoch, told] : found.told) rounds += static_cast<double>(told.rounds);
    CHECK(read.consensus.rounds == rounds);
    REQUIRE(read.points.size() == found.told.size());
    for (std::size_t i = 0; i < read.points.size(); ++i) {
        const detail::consensus_report& told = found.told[i].second;
        const detail::consensus_means& point = read.points[i].consensus;
        CHECK(same(point.distance.value(), told.distance));
        CHECK(same(point.estimate.value(), told.estimate));
        CHECK(same(point.target.value(), told.target));
        CHECK(same(point.critical.value(), told.critical));
        CHECK(point.rounds.value() == static_cast<double>(told.rounds));
        CHECK(std::isfinite(told.distance) == (i % 3 == 0));
    }
    REQUIRE(read.about.mixing.has_value());
    CHECK(read.about.mixing->links == found.recorded.about.mixing->links);
    CHECK(read.about.mixing->links.size() == 8);
    CHECK(read.about.mixing->second_singular_value ==
          found.recorded.about.mixing->second_singular_value);
    const sotto::detail::topologies::mixing_graph& graph = *read.about.mixing;
    CHECK(graph.p == found.recorded.about.mixing->p);
    CHECK(graph.p == doctest::Approx(1.0 - std::pow(graph.second_singular_value, 2.0)));
    CHECK(graph.topology == "ring");
    CHECK(graph.degree == 2);
    CHECK(graph.bytes_a_round == 2 * 4 * testing::number_model{}.layout().size());
    CHECK_FALSE(graph.ranks_may_go);
}

TEST_CASE("steps that miss their target are counted alike from a log and while it is written") {
    const testing::scratch_folder folder("missed");
    const auto path = folder.path() / "run.jsonl";
    const ended found = run(ring_of(consensus_control{.rho = 1e-3, .rounds_max = 2}, 0), path);
    const run_log read = read_json_lines(path);
    double missed = 0.0;
    for (const auto& [epoch, told] : found.told) missed += told.missed;
    CHECK(missed > 0.0);
    CHECK(read.consensus.missed == missed);
    CHECK(found.recorded.consensus.missed == missed);
}

TEST_CASE("a step's line has what was measured, and nothing that was not") {
    const testing::scratch_folder folder("members");
    const auto path = folder.path() / "run.jsonl";
    const auto members = [&](std::size_t step) {
        std::string names;
        const nlohmann::json found = lines_of(path, "step")[step]["consensus"];
        for (const auto& [name, value] : found.items()) names += (names.empty() ? "" : " ") + name;
        return names;
    };
    run(ring_of(consensus_control{}, 2), path, 1);
    CHECK(members(0) ==
          "change distance estimate gradient_norm learning_rate rounds "
          "squared_changes squared_distances target");  // there is no change of gradients yet
    CHECK(members(1) ==
          "change estimate gradient_norm learning_rate rounds squared_changes target");
    run(ring_of(no_control{}, 0), path, 1);
    CHECK(members(1) == "change learning_rate rounds squared_changes");
    const auto about = lines_of(path, "run")[0];
    CHECK(about["mixing"]["links"][0] == nlohmann::json::array({1, 0, 1.0 / 3.0}));
    CHECK(about["mixing"]["period"] == 1);

    run(ring_of(no_control{}, 1), path, 1);
    CHECK(members(1) ==
          "change distance gradient_norm learning_rate rounds squared_changes squared_distances");
    run(gossip{sgd{},
               topologies::complete{},
               no_control{},
               none{},
               mixing::adapt_then_combine{},
               {.measure_every = 1}},
        path, 1);
    CHECK(members(1) == "distance gradient_norm learning_rate rounds squared_distances");
    run(all_reduce{sgd{}}, path, 1);
    CHECK_FALSE(lines_of(path, "step")[0].contains("consensus"));
    CHECK_FALSE(lines_of(path, "run")[0].contains("mixing"));
    CHECK_FALSE(read_json_lines(path).consensus.is_told);

    const local_updates rarely{
        sgd{}, gossip{sgd{.learning_rate = 1.0}, topologies::random_matching{}}, {.every = 2}};
    run(rarely, path, 1);
    CHECK(lines_of(path, "run")[0]["mixing"]["period"] == 0);
    CHECK(lines_of(path, "run")[0]["mixing"]["topology"] == "random_matching");
    CHECK(lines_of(path, "run")[0]["mixing"]["degree"] == 1);
    CHECK(lines_of(path, "run")[0]["mixing"]["p"].get<double>() > 0.5);  // of four ranks 2/3
    CHECK_FALSE(lines_of(path, "run")[0]["mixing"].contains("second_singular_value"));
    CHECK_FALSE(lines_of(path, "step")[0].contains("consensus"));
    CHECK(lines_of(path, "step")[1]["consensus"]["rounds"] == 1);
}

TEST_CASE("logs without distances, and phases that cannot be, are refused by name") {
    const testing::scratch_folder folder("refused");
    const auto path = folder.path() / "ring.jsonl";
    CHECK_THROWS_AS(consensus_maxima(path, {0.0}), io_failure);
    std::ofstream(path) << "no log\n";
    CHECK_THROWS_AS(consensus_maxima(path, {0.0}), detail::malformed_log);
    run(ring_of(no_control{}, 1), path, 2);
    CHECK(consensus_maxima(path, {0.0}).size() == 1);
    CHECK_THROWS_WITH(consensus_maxima(path, {0.0, 2.0}),
                      "consensus_maxima: run 'ring' has no distance that was measured exactly in "
                      "the second half of the phase from epoch 2 on; expected a log of gossip with "
                      "gossip_options{.measure_every = 1}");
    run(ring_of(consensus_control{}, 0), path, 2);  // estimates alone
    CHECK_THROWS_WITH(
        consensus_maxima(path, {0.0, 1.0}),
        "consensus_maxima: run 'ring' has no distance that was measured exactly in "
        "the second half of the phase from epoch 0 on, before epoch 1; expected a log "
        "of gossip with gossip_options{.measure_every = 1}");
    const run_log none;
    const double nan = std::numeric_limits<double>::quiet_NaN();
    for (const std::vector<double>& phases :
         {std::vector<double>{}, {1.0}, {0.0, 0.0}, {0.0, 2.0, 1.0}, {0.0, 0.5}, {0.0, nan}})
        CHECK_THROWS_AS(consensus_maxima(none, phases), invalid_option);
    CHECK_THROWS_WITH(consensus_maxima(none, std::vector{0.0, 0.5}),
                      "consensus_maxima: phase 1 begins at epoch 0.500000; phases begin at whole "
                      "epochs and ascend");
}

TEST_CASE("distances and graphs that cannot be are refused with line, expected and found") {
    const std::string run_line =
        R"({"event":"run","rank":0,"world_size":2,"epochs":1,"examples":8,"steps_an_epoch":2,)"
        R"("step":0,"options":{},"tensors":[{"name":"w","shape":[6],"size":6}])";
    const std::string step_line =
        R"({"event":"step","step":1,"epoch":0.0,"seconds_since_start":1.5,"rank_loss":1,)"
        R"("examples":4,"load_seconds":0,"compute_seconds":0.5,"compress_seconds":0,)"
        R"("wait_seconds":0.25,"apply_seconds":0,"dense_bytes":24,"message_bytes":24,)"
        R"("bytes_sent":10,"bytes_received":10,"tensor_message_bytes":[])";
    const auto refusal = [](const std::vector<std::string>& lines) -> std::string {
        detail::json_lines_reader reader("log");
        try {
            for (const std::string& line : lines) reader.line(line);
        } catch (const detail::malformed_log& e) {
            return e.what();
        }
        return "";
    };
    const auto of_step = [&](const std::string& consensus) {
        return refusal({run_line + "}", step_line + R"(,"consensus":)" + consensus + "}"});
    };
    const auto of_graph = [&](const std::string& mixing) {
        return refusal({run_line + R"(,"mixing":)" + mixing + "}"});
    };
    CHECK(of_step("{}") == "");
    CHECK(of_step(R"({"rounds":2,"distance":0.5,"squared_changes":[1e-9]})") == "");
    CHECK(of_step("[]") == "'log', line 2: expected \"consensus\" to be an object, found array");
    CHECK(of_step(R"({"rounds":-1})") ==
          "'log', line 2: expected \"rounds\" to be a whole number from 0 to 1099511627776, found "
          "-1");
    CHECK(of_step(R"({"distance":-0.5})") ==
          "'log', line 2: expected \"distance\" to be a number that is not negative, found -0.5");
    CHECK(of_step(R"({"target":null})") != "");
    CHECK(of_step(R"({"squared_changes":[1,2]})") ==
          "'log', line 2: expected as many squared_changes as the run has tensors, 1, found 2");
    CHECK(of_step(R"({"squared_changes":["1"]})") != "");
    CHECK(of_step(R"({"squared_distances":[0.25]})") == "");
    CHECK(of_step(R"({"squared_distances":[1,2]})") ==
          "'log', line 2: expected as many squared_distances as the run has tensors, 1, found 2");
    CHECK(of_step(R"({"squared_distances":[-1]})") != "");

    const std::string ring = R"({"ranks":3,"period":1,"link_count":2,"links":)";
    CHECK(of_graph(ring + "[[0,1,0.5],[1,0,0.5]]}") == "");
    CHECK(of_graph(ring + "[[0,3,0.5]]}") ==
          "'log', line 1: expected \"links[][]\" to be a whole number from 0 to 2, found 3");
    CHECK(of_graph(ring + "[[0,1]]}") ==
          "'log', line 1: expected \"links[]\" to be [from, to, weight], found array");
    CHECK(of_graph(ring + "[[0,1,-0.5]]}") != "");
    CHECK(of_graph(ring + "[0]}") != "");
    CHECK(of_graph(R"({"ranks":0,"period":1,"link_count":0,"links":[]})") != "");
    CHECK(of_graph(R"({"ranks":3,"period":1,"link_count":0})") ==
          "'log', line 1: expected a member \"links\", found none");
}

TEST_CASE("how good ranks' own models are is read as it was told, and refused where it cannot be") {
    const testing::scratch_folder folder("own");
    const auto path = folder.path() / "run.jsonl";
    run_log recorded;
    run_in_process(4, [&](in_process& transport) {
        testing::number_model model;
        trainer trainer{model, gossip{sgd{}}, transport, {.batch_size = 2}};
        const testing::numbered unseen{5};
        json_lines lines(path);
        run_recorder recorder("recorded");
        trainer.fit(testing::numbered{24}, epochs{2}, evaluate_on{unseen, {.own = true}}, lines,
                    recorder);
        if (transport.rank() == 0) recorded = recorder.log();
    });
    const run_log read = read_json_lines(path);
    REQUIRE(read.epochs.size() == 2);
    for (std::size_t i = 0; i < 2; ++i) {
        REQUIRE(read.epochs[i].evaluated->own.has_value());
        const detail::own_evaluations &a = *read.epochs[i].evaluated->own,
                                      &b = *recorded.epochs[i].evaluated->own;
        CHECK(a.loss == b.loss);
        CHECK(a.loss.mean == 2.0);  // of examples 0 to 4, whatever the model
        CHECK(std::isnan(a.accuracy.most));
    }
    const auto line = lines_of(path, "epoch")[1];
    CHECK(line["own_test_loss"] == nlohmann::json{{"least", 2.0}, {"mean", 2.0}, {"most", 2.0}});
    CHECK(line["own_test_accuracy"]["mean"].is_null());
    CHECK(lines_of(path, "end")[0]["own_test_loss"] == line["own_test_loss"]);

    const auto refusal = [&](const char* member, const nlohmann::json& value) -> std::string {
        nlohmann::json changed = line;
        changed[member] = value;
        detail::json_lines_reader reader("log");
        try {
            reader.line(lines_of(path, "run")[0].dump());
            reader.line(changed.dump());
        } catch (const detail::malformed_log& e) {
            return e.what();
        }
        return "";
    };
    CHECK(refusal("own_test_loss", line["own_test_loss"]) == "");
    CHECK(refusal("own_test_loss", 2.0) ==
          "'log', line 2: expected \"own_test_loss\" to be an object, found 2.0");
    CHECK(refusal("own_test_loss", {{"least", 1.0}, {"mean", 1.0}}) ==
          "'log', line 2: expected a member \"most\", found none");
    CHECK(refusal("own_test_accuracy", {{"least", 0.5}, {"mean", 0.75}, {"most", 1.5}}) ==
          "'log', line 2: expected \"most\" to be a number from 0 to 1, found 1.5");
}
