#include "sotto/report/detail/sections/report_summary.hpp"

#include <doctest/doctest.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "sotto/compressors/residual.hpp"
#include "sotto/compressors/sparsified.hpp"
#include "sotto/compressors/top_k.hpp"
#include "sotto/report/detail/sections/report_terms.hpp"
#include "sotto/strategies/parameter_server/consistency/asynchronous.hpp"
#include "sotto/optimizers/sgd.hpp"
#include "sotto/staleness/no_compensation.hpp"
#include "sotto/strategies/parameter_server.hpp"
#include "sotto/logging/merge_rank_logs.hpp"
#include "sotto/logging/run_recorder.hpp"
#include "sotto/trainer/trainer.hpp"
#include "sotto/transports/run_simulated.hpp"
#include "support/made_up_run.hpp"
#include "support/numbers.hpp"

using namespace sotto;
using namespace sotto::testing;

namespace {

/// A log of 40 steps of 1000 bytes of gradients, of which each became a message of that many; the
/// last of two epochs holds `afterwards` too, which was sent when there were no steps left.
run_log to_servers(std::string name, int rank, int servers, double message, double sent,
                   double afterwards = 0.0) {
    run_log log;
    log.name = std::move(name);
    log.begin({.rank = rank,
               .world_size = 4,
               .options = {{"strategy.servers.servers", std::to_string(servers)},
                           {"strategy.servers.dedicated", "false"}},
               .tensors = {{.name = "w", .shape = {250}, .size = 250}}});
    const detail::run_costs step{.examples = 8,
                                 .compute = 0.5,
                                 .wait = 0.5,
                                 .dense_bytes = 1000,
                                 .message_bytes = message,
                                 .bytes_sent = sent,
                                 .bytes_received = 2.0 * sent};
    for (std::int64_t s = 1; s <= 40; ++s) {
        log.add(run_log::step{
            .number = s, .seconds = static_cast<double>(s), .loss = 1.0, .costs = step});
        if (s % 20 != 0) continue;
        run_log::finished_epoch e{
            .epoch = s / 20, .step = s, .seconds = static_cast<double>(s), .loss = 1.0};
        e.costs.add(step, 20.0);
        if (s == 40) e.costs.bytes_sent += afterwards;
        e.evaluated = evaluation{0.5, 0.9, 100};
        log.add(e);
    }
    log.end(50.0, false);
    return log;
}

}  // namespace

TEST_CASE("what a rank that serves too sent is no worker's push: its messages alone are compared") {
    const run_log run = to_servers("served", 0, 1, 250, 4096, 1 << 20);
    CHECK(sotto::detail::reporting::serves_too(run));
    const std::string text = page({run});
    CHECK(fault_of(text) == "");
    CHECK(has(text,
              "<b>served</b>: rank 0, a server and one of 4 workers, sent <b>1.16\u202fMiB</b> and "
              "received 320\u202fKiB in 40 steps, serving included, also after its own last step; "
              "its own messages are 9.77\u202fKiB of that; whole gradients to a server would have "
              "been 39.1\u202fKiB, <b>4.0\u202f×</b> as much. Accuracy"));
    CHECK(has(text,
              "<dt>sent by rank 0, a server and one of 4 workers, serving included, also after its "
              "own last step</dt><dd>1.16\u202fMiB</dd>"));
    CHECK(
        has(text, "<dt>received by it, pushes of all workers included</dt><dd>320\u202fKiB</dd>"));
    CHECK(has(text,
              "<dt>of what it sent its own messages, 250\u202fB a step in the last epoch</dt>"
              "<dd>9.77\u202fKiB</dd>"));
    CHECK(has(text,
              "<dt>smaller messages than whole gradients to a server; 4.0\u202f× in the last "
              "epoch</dt><dd>4.0\u202f×</dd>"));
    CHECK(has(text, "served, rank 0, a server too</th>"));
    CHECK(has(text, "<th>wire ratio</th><td>–</td>"));
    CHECK(has(text, "The rank of <b>served</b> that is shown serves too: what it sent"));
    for (const char* part : {"all-reduce", "by a ring", "which no ratio here counts"})
        CHECK_MESSAGE(!has(text, part), part);

    run_log goes_on = run;
    goes_on.ended = false;
    CHECK(has(page({goes_on}), "in 40 steps, serving included; its own messages"));
}

TEST_CASE("messages of a rank that serves too may be as large as gradients, or larger") {
    const std::string whole = page({to_servers("whole", 0, 1, 1000, 4096)});
    CHECK(has(whole, "its own messages are 39.1\u202fKiB of that. Accuracy"));
    CHECK_FALSE(has(whole, "whole gradients to a server;"));
    const std::string larger = page({to_servers("larger", 0, 1, 1500, 4096)});
    CHECK(has(larger,
              "its own messages are 58.6\u202fKiB of that, <b>1.5\u202f×</b> as much as whole "
              "gradients to a server would have been, 39.1\u202fKiB. Accuracy"));
    CHECK(has(larger,
              "<dt>as large messages as whole gradients to a server; 1.5\u202f× in the last "
              "epoch</dt><dd>1.5\u202f×</dd>"));
}

TEST_CASE("what a worker pushes is compared with whole gradients to a server, never by a ring") {
    const run_log fewer = to_servers("fewer", 1, 1, 250, 320);
    CHECK_FALSE(sotto::detail::reporting::serves_too(fewer));
    const std::string few = page({fewer});
    CHECK(has(few,
              "rank 1, one of 4 workers, sent <b>12.5\u202fKiB</b> and received 25\u202fKiB in 40 "
              "steps; whole gradients to a server would have been 39.1\u202fKiB, "
              "<b>3.1\u202f×</b> as much"));
    CHECK(has(few, "<dt>fewer bytes sent than whole gradients to a server; 3.1\u202f×"));
    CHECK_FALSE(has(few, "serves too"));
    const std::string more = page({to_servers("more", 1, 1, 1500, 1600)});
    CHECK(has(more,
              "in 40 steps, <b>1.6\u202f×</b> as much as whole gradients to a server would have "
              "been, 39.1\u202fKiB"));
    CHECK(has(more, "<dt>as many bytes sent as whole gradients to a server; 1.6\u202f×"));
    CHECK(has(page({made_up("dgc", 40, 0.05, 0.9)}),
              "; whole gradients by a ring would have been 237\u202fKiB"));
}

TEST_CASE("ranks are set beside each other by what they sent only where both serve, or neither") {
    run_log ring = to_servers("ring", 0, 0, 1000, 1500);
    CHECK_FALSE(ring.by_server());
    const run_log served = to_servers("served", 0, 1, 250, 4096),
                  whole = to_servers("whole", 0, 1, 1000, 8192),
                  two = to_servers("two", 0, 2, 250, 4096),
                  worker = to_servers("worker", 1, 1, 250, 320);
    const std::string apart = page({ring, served});
    CHECK(fault_of(apart) == "");
    CHECK(has(apart,
              "<b>served</b>: rank 0, a server and one of 4 workers, sent <b>160\u202fKiB</b>, "
              "serving included, also after its own last step; its own messages are "
              "9.77\u202fKiB of that. In <b>ring</b> each of 4 workers sent 58.6\u202fKiB. "
              "<b>served</b> ended at <b>90.00\u202f%</b> accuracy instead of 90.00\u202f%"));
    CHECK_FALSE(has(apart, "than <b>ring</b>"));
    CHECK_FALSE(has(apart, "as</b> <b>ring</b>"));
    CHECK(has(apart, "<td>80\u202fKiB, serving included</td>"));  // of equal accuracy

    CHECK(has(page({whole, served}),
              "<b>served</b> sent <b>2.0\u202f× fewer bytes</b> than <b>whole</b> (160\u202fKiB "
              "instead of 320\u202fKiB, by rank 0, which serves too and received 320\u202fKiB)"));
    CHECK(has(page({whole, two}), "<b>two</b>: rank 0, a server and"));  // half of the answers
    CHECK(has(page({whole, worker}),
              "<b>worker</b>: rank 1, one of 4 workers, sent <b>12.5\u202fKiB</b>. In "
              "<b>whole</b> rank 0, a server and one of 4 workers, sent 320\u202fKiB, serving "
              "included, also after its own last step; its own messages are 39.1\u202fKiB of "
              "that. <b>worker</b> ended at"));
    CHECK(has(page({ring, worker}),
              "<b>worker</b> sent <b>4.7\u202f× fewer bytes</b> than <b>ring</b>"));

    for (run_log::finished_epoch& e : ring.epochs) e.evaluated.reset();
    CHECK(has(page({ring, served}), "58.6\u202fKiB. <b>served</b> took <b>50\u202fs</b> instead"));
}

TEST_CASE("a server that has its own steps behind it counts in its last epoch what others ask") {
    // Rank 0 serves and works; rank 3 is slow: most of its answers are sent after rank 0's steps.
    std::vector<run_log> logs(4);
    simulated_options network;
    network.machine.flops = 1e6;
    network.slowness = speeds::one_slow{.rank = 3, .factor = 8.0};
    const parameter_server strategy{sgd{.learning_rate = 0.01}, asynchronous{}, no_compensation{},
                                    sparsified{top_k{.density = 0.1}, residual{}}};
    run_simulated(4, network, [&](simulated& transport) {
        number_model model;
        trainer trainer{model, strategy, transport, {.batch_size = 4}};
        run_recorder recorder;
        trainer.fit(numbered{96}, epochs{3}, recorder);
        logs[static_cast<std::size_t>(transport.rank())] = recorder.log();
    });
    const run_log& server = logs[0];
    REQUIRE(server.epochs.size() == 3);
    CHECK(server.epochs[2].costs.bytes_sent > 1.5 * server.epochs[1].costs.bytes_sent);
    CHECK(server.epochs[2].costs.message_bytes < 1.1 * server.epochs[1].costs.message_bytes);
    CHECK(sotto::detail::reporting::serves_too(server));
    for (int rank = 1; rank < 4; ++rank)
        CHECK_FALSE(sotto::detail::reporting::serves_too(logs[static_cast<std::size_t>(rank)]));
    const std::string each =
        sotto::detail::reporting::bytes(server.epochs[2].costs.message_bytes / 6.0);
    for (const run_log& run : {server, merge_rank_logs(logs)}) {
        const std::string text = page({run});
        CHECK(fault_of(text) == "");
        CHECK(has(text, "rank 0, a server and one of 4 workers, sent <b>"));
        CHECK(has(text, "of what it sent its own messages, " + each + " a step in the last epoch"));
        CHECK_FALSE(has(text, "all-reduce"));
    }
}
