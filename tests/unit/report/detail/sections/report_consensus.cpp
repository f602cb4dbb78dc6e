#include "sotto/report/detail/sections/report_consensus.hpp"

#include <doctest/doctest.h>

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "sotto/strategies/gossip/control/consensus_control.hpp"
#include "sotto/strategies/gossip.hpp"
#include "sotto/topologies/exponential.hpp"
#include "sotto/logging/merge_rank_logs.hpp"
#include "sotto/logging/run_recorder.hpp"
#include "sotto/report/detail/sections/report_graph.hpp"
#include "sotto/trainer/trainer.hpp"
#include "sotto/transports/run_in_process.hpp"
#include "support/made_up_run.hpp"
#include "support/numbers.hpp"

using namespace sotto;
using sotto::detail::topologies::mixing_graph, sotto::detail::topologies::mixing_link;
using testing::fault_of, testing::has, testing::made_up, testing::page;

namespace {

std::size_t count_of(const std::string& text, std::string_view part) {
    std::size_t count = 0;
    for (std::size_t at = 0; (at = text.find(part, at)) != text.npos; at += part.size()) ++count;
    return count;
}

sotto::detail::topologies::mixing_graph ring_of(int ranks) {
    sotto::detail::topologies::mixing_graph graph{
        .ranks = ranks, .second_singular_value = 0.8047, .link_count = 2 * ranks};
    for (int rank = 0; rank < ranks; ++rank)
        for (const int from : {(rank + 1) % ranks, (rank + ranks - 1) % ranks})
            graph.links.push_back({from, rank, 1.0 / 3.0});
    return graph;
}

/// Steps of 8 ranks in a ring that come closer and closer.
run_log gossiping(std::int64_t steps, bool exact = true) {
    run_log log;
    log.name = "gossip";
    log.begin({.world_size = 8,
               .tensors = {{.name = "w", .shape = {100, 10}, .size = 1000},
                           {.name = "b", .shape = {10}, .size = 10}},
               .mixing = ring_of(8)});
    const double squares[] = {0.04, 0.0025}, squared_distances[] = {0.25, 0.01};
    for (std::int64_t s = 1; s <= steps; ++s) {
        const double distance = 2.0 / static_cast<double>(s);
        log.add(run_log::step{
            .number = s,
            .epoch = 0.01 * static_cast<double>(s - 1),
            .seconds = static_cast<double>(s),
            .loss = 1.0,
            .costs = {.compute = 1.0, .bytes_sent = 1024.0},
            .consensus = {
                .rounds = 1 + s % 3,
                .estimate = 0.5 * distance,
                .distance = exact && s % 5 == 1 ? distance : detail::consensus_report::unknown,
                .target = 0.1,
                .critical = exact ? 0.3 : detail::consensus_report::unknown,
                .learning_rate = 0.5,
                .gradient_norm = 0.8,
                .squared_changes = squares,
                .squared_distances = exact ? std::span<const double>(squared_distances)
                                           : std::span<const double>{}}});
    }
    log.end(static_cast<double>(steps), false);
    return log;
}

}  // namespace

TEST_CASE("the report draws how far ranks were apart, what they kept below, and what it took") {
    const run_log run = gossiping(120);
    const std::string text = page({run, made_up("dense", 20, 1.0, 0.9)});
    CHECK(fault_of(text) == "");
    for (const char* part :
         {"How far ranks were apart", "240 rounds of mixing in 120 steps, 2.00 a step",
          "rank 0 sent 120\u202fKiB", ">distance</text>", ">estimate</text>", ">target</text>",
          ">critical distance</text>", "The distance ends at 0.0172",
          "the estimate ends at 0.00833", "the target ends at 0.100",
          "the critical distance ends at 0.300", "Rounds of mixing a step", "At most 3.",
          "Sent by rank 0 a step", "At most 1\u202fKiB.",
          "A round leaves at most 80.5\u202f% of the distance between ranks"})
        CHECK_MESSAGE(has(text, part), part);
    // Apart by 0.5 and 0.1, and moved by 0.2 and 0.05, where steps are 0.5 * 0.8 long.
    for (const char* row : {"<tr><th>all</th><td>0.510</td><td>127.5\u202f%</td><td>0.206</"
                            "td><td>51.5\u202f%</td></tr>",
                            "<tr><th>w</th><td>0.500</td><td>125.0\u202f%</td><td>0.200</"
                            "td><td>50.0\u202f%</td></tr>",
                            "<tr><th>b</th><td>0.100</td><td>25.0\u202f%</td><td>0.0500</"
                            "td><td>12.5\u202f%</td></tr>"})
        CHECK_MESSAGE(has(text, row), row);
    const std::string estimated = page({gossiping(20, false)});
    CHECK(has(estimated, "<tr><th>w</th><td>0.200</td><td>50.0\u202f%</td></tr>"));
    CHECK_FALSE(has(page({made_up("dense", 20, 1.0, 0.9)}), "How far ranks were apart"));
}

TEST_CASE("what was measured beside training, and a target that was missed, are told") {
    run_log run = gossiping(40);
    CHECK_FALSE(has(page({run}), "to measure distances exactly"));
    CHECK_FALSE(has(page({run}), "limit of rounds"));
    run.add(run_log::step{.number = 41,
                          .costs = {.bytes_sent = 4096.0, .study_bytes = 3072.0},
                          .consensus = {.rounds = 64, .target = 0.1, .missed = true}});
    CHECK(run.consensus.aimed == 41.0);
    const std::string text = page({run});
    CHECK(has(text, "rank 0 sent 44\u202fKiB, of which 3\u202fKiB to measure distances exactly"));
    CHECK(
        has(text, "The limit of rounds was reached in 1 of 41 steps</b>, and their target missed"));
    CHECK(has(text, "<th>rank 0 moved by</th>"));
    CHECK(has(text, "The target is what a controller compares with the estimate"));
}

TEST_CASE("charts mark when a rank went and when it came again") {
    run_log run = gossiping(40);
    run.losses = {{.rank = 3, .cause = "cut", .step = 10, .seconds = 2.5, .again_step = 30},
                  {.rank = 4, .cause = "cut"}};
    const std::string text = page({run});
    CHECK(fault_of(text) == "");
    CHECK(count_of(text, ">rank 3 went</text>") == 3);  // of distances, rounds and bytes
    CHECK(count_of(text, ">rank 3 came again</text>") == 3);
    CHECK(count_of(text, ">rank 4 went</text>") == 0);
    CHECK(has(text, "<h2>Ranks that went</h2>"));
    CHECK_FALSE(has(text, "How late gradients came"));
}

TEST_CASE(
    "what ranks of a graph sent is told of one, or of all, and never as if all sent as much") {
    const auto star = [](double hub, double leaf) {
        std::vector<run_log> ranks;
        for (int rank = 0; rank < 8; ++rank) {
            run_log log = gossiping(0);
            log.about.rank = rank;
            log.total.dense_bytes = log.total.message_bytes = 700.0;
            log.total.ring_bytes = 1225.0;
            log.total.bytes_sent = rank == 0 ? hub : leaf;
            log.steps = 10;
            ranks.push_back(log);
        }
        return ranks;
    };
    const run_log all = merge_rank_logs(star(40960.0, 1024.0));
    const detail::sent_by_ranks sent = sent_by(all.ranks);
    CHECK(sent.mean == 6016.0);
    CHECK(sent.most == 40960.0);
    CHECK(sent.rank == 0);
    CHECK_FALSE(sent.alike());
    const std::string text = page({all});
    CHECK(has(text,
              "one of 8 workers, on average, sent <b>5.88\u202fKiB</b>, rank 0 40\u202fKiB in "
              "10 steps (all 8 together 47\u202fKiB in 80 steps), <b>4.9\u202f×</b> as much as "
              "an all-reduce of whole gradients would have, 1.20\u202fKiB"));
    CHECK(has(text, "<dt>as many bytes as an all-reduce of whole gradients by a ring; "));
    CHECK_FALSE(has(text, "each of 8 workers"));
    CHECK(has(page({merge_rank_logs(star(1024.0, 1024.0))}),
              "each of 8 workers sent <b>1\u202fKiB</b> in"));
    CHECK(has(page({star(40960.0, 1024.0)[3]}),
              "rank 3, one of 8 workers, sent <b>1\u202fKiB</b> in"));
}

TEST_CASE("the vertical axis of distances is logarithmic: equal ratios lie equally apart") {
    const auto axis = sotto::detail::reporting::distance_axis(gossiping(2000));
    CHECK(axis.logarithmic);
    CHECK(axis.place(0.01) - axis.place(0.001) ==
          doctest::Approx(axis.place(0.1) - axis.place(0.01)));
    run_log zeros = gossiping(0);
    zeros.add(run_log::step{.number = 1, .consensus = {.rounds = 1, .estimate = 0.0}});
    CHECK_FALSE(sotto::detail::reporting::distance_axis(zeros).logarithmic);
    CHECK(fault_of(page({zeros})) == "");
}

TEST_CASE("distances that were measured now and then are joined, and none is made up") {
    const std::string drawn = sotto::detail::reporting::distance_chart(gossiping(21));
    // Steps 1, 6, 11, 16 and 21, and a mark at each; of the estimate 21.
    CHECK(count_of(drawn, "class=\"m c0\"") == 5);
    CHECK(count_of(drawn, "class=\"m c1\"") == 21);
    const std::string estimated = sotto::detail::reporting::distance_chart(gossiping(21, false));
    CHECK(count_of(estimated, "class=\"l c0\"") == 0);
    CHECK_FALSE(has(estimated, "critical"));
    CHECK(sotto::detail::reporting::distance_chart(gossiping(0)).empty());
    CHECK(sotto::detail::reporting::distance_chart(made_up("dense", 20, 1.0, 0.9)).empty());
}

TEST_CASE("a graph is drawn with a line for each link, the wider the more it weighs") {
    const sotto::detail::topologies::mixing_graph ring = ring_of(8);
    const sotto::detail::reporting::mixing_circle circle(ring);
    CHECK(circle.is_drawn());
    const std::string svg = circle.svg();
    CHECK(fault_of(svg) == "");
    CHECK(count_of(svg, "class=\"node\"") == 8);
    CHECK(count_of(svg, "class=\"edge\"") == 8);  // both ways are one line
    CHECK(count_of(svg, "class=\"tip\"") == 0);
    CHECK(has(svg, "ranks 0 and 7: weight 0.333"));
    CHECK(count_of(svg, "stroke-width=\"2.4\"") == 8);

    sotto::detail::topologies::mixing_graph uneven = ring;
    for (sotto::detail::topologies::mixing_link& l : uneven.links)
        if (l.from + l.to == 1) l.weight = 0.05;
    const std::string thinner = sotto::detail::reporting::mixing_circle(uneven).svg();
    CHECK(count_of(thinner, "stroke-width=\"2.4\"") == 7);
    CHECK(count_of(thinner, "stroke-width=\"0.7\"") == 1);
}

TEST_CASE("links that go one way are told from those that go both ways") {
    sotto::detail::topologies::mixing_graph one_way{.ranks = 4, .period = 2, .link_count = 5};
    one_way.links = {{1, 0, 0.5}, {2, 1, 0.5}, {3, 2, 0.5}, {0, 3, 0.5}, {0, 1, 0.25}};
    const std::string svg = sotto::detail::reporting::mixing_circle(one_way).svg();
    CHECK(count_of(svg, "class=\"tip\"") == 5);
    CHECK(has(svg, "from rank 0 to 3: weight 0.500"));
    CHECK(has(svg, "from rank 0 to 1: weight 0.250"));
    CHECK(has(svg, "which take turns over 2 rounds"));
    one_way.period = 0;
    CHECK(has(sotto::detail::reporting::mixing_circle(one_way).told(),
              "these are the mean of 64 rounds"));
}

TEST_CASE("graphs that are too large are told, not drawn, and those of one rank are a point") {
    sotto::detail::topologies::mixing_graph many{.ranks = 150,
                                                 .link_count = 150 * 149};  // too many to be listed
    CHECK_FALSE(sotto::detail::reporting::mixing_circle(many).is_drawn());
    CHECK(has(sotto::detail::reporting::mixing_circle(many).told(), "Too much to be drawn"));
    CHECK_FALSE(sotto::detail::reporting::mixing_circle(ring_of(1000)).is_drawn());
    CHECK(sotto::detail::reporting::mixing_circle(ring_of(512)).is_drawn());
    const sotto::detail::topologies::mixing_graph one{};
    CHECK(sotto::detail::reporting::mixing_circle(one).is_drawn());
    CHECK(count_of(sotto::detail::reporting::mixing_circle(one).svg(), "class=\"node\"") == 1);
    run_log log = gossiping(3);
    log.about.mixing = many;
    CHECK(fault_of(page({log})) == "");
    CHECK_FALSE(has(page({log}), "<circle class=\"node\""));
}

TEST_CASE("what a graph is called, how it mixes and what a round sends is told where it is known") {
    sotto::detail::topologies::mixing_graph graph = ring_of(8);
    const auto told = [&] { return sotto::detail::reporting::mixing_circle(graph).told(); };
    CHECK_FALSE(has(told(), "p ="));
    graph.topology = "lazy ring";
    graph.p = 0.3524;
    graph.degree = 2;
    graph.bytes_a_round = 2048;
    CHECK(has(told(), "lazy ring: 8 ranks, 16 links, each way counted, at most 2 of a rank in a "));
    CHECK(has(told(), " of the distance between ranks (λ), p = 1 − λ² = 0.352."));
    CHECK(has(told(), "In a round a rank sends at most 2"));
    CHECK_FALSE(has(told(), "missing"));
    graph.ranks_may_go = true;
    CHECK(has(told(), "This is of all ranks: where some were missing it was another"));
    graph.second_singular_value = std::nan("");
    CHECK(has(told(), ". Expected is p = 1 − λ² = 0.352"));
}

TEST_CASE("a run of 100,000 steps makes no large page, and names stay text") {
    run_log long_run = gossiping(100'000);
    long_run.about.mixing = ring_of(512);
    CHECK(page({long_run}).size() < (1u << 19));
    run_log hostile = gossiping(3);
    hostile.name = hostile.about.tensors[0].name = "<script>&\"";
    CHECK(fault_of(page({hostile})) == "");
    CHECK_FALSE(has(page({hostile}), "<script"));
    const std::vector<run_log> runs(14, gossiping(3));
    CHECK(has(sotto::detail::reporting::consensus_section(runs), "and 2 more runs"));
}

TEST_CASE("a run of gossip draws its own graph and distances") {
    run_log log;
    run_in_process(4, [&](in_process& transport) {
        testing::number_model model;
        model.pull = 1.0f;  // else there is no curvature, and no critical distance
        const gossip strategy{sgd{.learning_rate = 0.0625}, topologies::exponential{},
                              consensus_control{},          none{},
                              mixing::adapt_then_combine{}, {.measure_every = 2}};
        trainer trainer{model, strategy, transport, {.batch_size = 2}};
        run_recorder recorder("ring");
        trainer.fit(testing::numbered{48}, epochs{8}, recorder);
        if (transport.rank() == 0) log = recorder.log();
    });
    const std::string text = page({log});
    CHECK(fault_of(text) == "");
    for (const char* part : {"Who mixes with whom", ">distance</text>", ">estimate</text>",
                             ">target</text>", ">critical distance</text>", "second.weight"})
        CHECK_MESSAGE(has(text, part), part);
    CHECK(count_of(text, "class=\"node\"") == 4);
}
