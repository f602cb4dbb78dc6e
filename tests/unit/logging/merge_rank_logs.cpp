#include "sotto/logging/merge_rank_logs.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "sotto/strategies/parameter_server/consistency/asynchronous.hpp"
#include "sotto/strategies/parameter_server.hpp"
#include "sotto/logging/json_lines.hpp"
#include "sotto/report/detail/sections/report_advice.hpp"
#include "sotto/logging/run_recorder.hpp"
#include "sotto/trainer/trainer.hpp"
#include "sotto/transports/run_simulated.hpp"
#include "support/fault_seeds.hpp"
#include "support/folders.hpp"
#include "support/made_up_run.hpp"
#include "support/numbers.hpp"

using namespace sotto;
using namespace sotto::testing;
using namespace std::chrono_literals;

namespace {

const std::vector<std::pair<std::string, std::string>> dedicated{
    {"strategy.servers.servers", "1"}, {"strategy.servers.dedicated", "true"}};

/// A rank's log of so many steps of a second, half of it waiting.
run_log of_rank(int rank, std::int64_t steps, int world = 4) {
    run_log log;
    log.name = "served";
    log.begin({.rank = rank,
               .world_size = world,
               .options = dedicated,
               .tensors = {{.name = "w", .shape = {250}, .size = 250}}});
    for (std::int64_t s = 1; s <= steps; ++s)
        log.add(run_log::step{.number = s,
                              .seconds = static_cast<double>(s),
                              .loss = 1.0,
                              .costs = {.examples = 8,
                                        .compute = 0.5,
                                        .wait = 0.5,
                                        .dense_bytes = 1000,
                                        .message_bytes = 1000,
                                        .bytes_sent = 1024,
                                        .bytes_received = 2048}});
    log.end(static_cast<double>(steps), false);
    return log;
}

server_report told(std::vector<std::int64_t> rounds) {
    server_report server{.rank = 0, .version = 9};
    for (std::size_t w = 0; w < rounds.size(); ++w)
        server.workers.push_back(
            {.rank = static_cast<int>(w) + 1, .rounds = rounds[w], .waited = 0.25});
    return server;
}

}  // namespace

TEST_CASE("a dedicated server is no worker, and who died early counts for what it did") {
    std::vector<run_log> logs{of_rank(0, 0), of_rank(1, 2), of_rank(2, 40), of_rank(3, 38)};
    logs[0].add(told({2, 40, 38}));
    const run_log run = merge_rank_logs(logs);
    CHECK(run.workers() == 3);
    CHECK(run.by_server());
    REQUIRE(run.ranks.size() == 3);
    CHECK(run.ranks[0].rank == 1);
    CHECK(run.ranks[1].steps == 40);
    CHECK(run.ranks[2].total.wait == 19.0);
    CHECK(run.total.examples_of_all == 8.0 * 80.0);
    CHECK(run.total.ring_bytes == run.total.dense_bytes);  // a push of them, and no ring

    const std::string text = page({run});
    CHECK(fault_of(text) == "");
    CHECK(has(text,
              "<b>served</b>: rank 1, one of 3 workers, sent <b>2\u202fKiB</b> and received "
              "4\u202fKiB in 2 steps (all 3 together 80\u202fKiB in 80 steps)"));
    CHECK(has(text, "<dt>2 steps, 16 examples/s of 3 workers</dt><dd>40\u202fs</dd>"));
    CHECK(has(text, "<th>workers</th><td class=\"text\">3</td>"));
    for (const char* part : {"all-gather", "by a ring", "4 workers", "N − 1", "<b>1.0"})
        CHECK_MESSAGE(!has(text, part), part);
    for (const char* part :
         {"served, rank 1</div>", "served, rank 2</div>", "served, rank 3</div>"})
        CHECK_MESSAGE(has(text, part), part);
    CHECK(has(text, "To a server a message goes once."));
}

TEST_CASE("what the server held a worker back and what the worker waited are told apart") {
    std::vector<run_log> logs{of_rank(0, 0), of_rank(1, 2), of_rank(2, 40)};
    logs[0].add(told({2, 40, 3}));
    const std::string text = page({merge_rank_logs(logs)});
    CHECK(has(text, "<th>held back by the server</th><th>waited, by its own log</th>"));
    CHECK(has(text, "<td>250\u202fms</td><td>1\u202fs</td>"));
    CHECK(has(text, "<td>250\u202fms</td><td>20\u202fs</td>"));
    CHECK(has(text, "<td>250\u202fms</td><td>–</td>"));  // of rank 3 there is no log
    CHECK_FALSE(has(text, "<th>it waited</th>"));
    CHECK(has(text, "<th>of them dropped</th>"));
}

TEST_CASE("workers are those that trained, as far as logs, servers and options tell") {
    run_log alone = of_rank(1, 3);
    CHECK(alone.workers() == 3);  // by the options
    CHECK(alone.total.examples_of_all == 3.0 * 24.0);
    CHECK(merge_rank_logs({of_rank(1, 3)}).workers() == 3);
    run_log server = of_rank(0, 0);
    server.add(told({5, 0, 2}));
    CHECK(server.workers() == 2);  // one never came
    CHECK(merge_rank_logs({server, of_rank(1, 5)}).workers() == 2);
    // Of rank 3 there is no log: it counts as the others.
    CHECK(merge_rank_logs({server, of_rank(1, 5)}).total.examples_of_all == 2.0 * 40.0);
    server.add(told({0, 0, 0}));
    CHECK(server.workers() == 3);  // nobody began
    CHECK(merge_rank_logs({server, of_rank(1, 5), of_rank(2, 0), of_rank(3, 1)}).workers() == 2);
    run_log ring = made_up("ring", 20, 1.0, 0.9);
    CHECK(ring.workers() == 4);
    CHECK_FALSE(ring.by_server());
}

TEST_CASE("runs with a server beside each other are told as much as, and not compared in rings") {
    std::vector<run_log> a{of_rank(0, 0), of_rank(1, 4), of_rank(2, 4), of_rank(3, 4)}, b = a;
    a[0].add(told({4, 4, 4}));
    b[0].add(told({4, 4, 4}));
    run_log first = merge_rank_logs(a), second = merge_rank_logs(b);
    second.name = "again";
    const std::string text = page({first, second});
    CHECK(has(text,
              "<b>again</b> sent <b>as much</b> as <b>served</b> (4\u202fKiB, by rank 1, "
              "which received 8\u202fKiB)"));
    second.total.bytes_sent *= 1.3;
    CHECK(has(page({first, second}), "<b>1.3\u202f× as much</b> as <b>served</b>"));
    CHECK(has(text, "of gradients that go to a server nothing is"));
    CHECK_FALSE(sotto::detail::reporting::advice_from(std::vector{first, second}, {}));
}

TEST_CASE("a worker that came again is joined with the others, with all it did") {
    const scratch_folder folder("joined_again");
    const auto path = folder.path() / "run.jsonl";
    const layout tensors = [] {
        layout made;
        made.add("w", {4});
        return made;
    }();
    const auto log_of = [&](int rank, std::int64_t had, std::int64_t steps, bool ends) {
        json_lines lines(path, {.every_rank = true});
        lines.on_begin({.rank = rank,
                        .world_size = 3,
                        .steps_at_servers = had,
                        .parameters = &tensors,
                        .description = "strategy.servers.servers = 1\n"
                                       "strategy.servers.dedicated = true\n"});
        const std::vector<std::int64_t> sizes{16};
        for (std::int64_t s = had + 1; s <= had + steps; ++s)
            lines.on_step({.step = s,
                           .seconds = static_cast<double>(s),
                           .round = {.examples = 4, .tensor_message_bytes = sizes}});
        fit_report report{.step = had + steps, .seconds = 9.0};
        if (ends) lines.on_end(report);
    };
    log_of(0, 0, 0, true);
    log_of(1, 0, 6, true);
    log_of(2, 0, 2, false);  // it dies, and comes again
    log_of(2, 2, 4, true);
    const run_log run = read_json_lines_of_ranks(path);
    CHECK(run.workers() == 2);
    REQUIRE(run.ranks.size() == 2);
    CHECK(run.ranks[1].rank == 2);
    CHECK(run.ranks[1].steps == 6);
    CHECK(run.total.examples_of_all == 48.0);
}

TEST_CASE("a worker that is killed and comes again has one log of all its steps") {
    const scratch_folder folder("joined_killed");
    const auto path = folder.path() / "run.jsonl";
    const parameter_server strategy{sgd{.learning_rate = 0.125}, asynchronous{}, no_compensation{},
                                    none{}, serving{.dedicated = true, .survives = true}};
    simulated_options network = usual(3);
    network.lines.assign(3, network.line);
    network.lines[0] = {.out = 2e6, .in = 2e5, .latency = 5ms};
    network.faults = {network_fault::crash(2, 800ms), network_fault::restart(2, 880ms)};
    simulate(3, network, [&](simulated& transport) {
        number_model model;
        trainer trainer{model, strategy, transport, {.batch_size = 4, .seed = 1}};
        trainer.fit(numbered{96}, epochs{1}, json_lines{path, {.every_rank = true}});
    }).require_success();
    const run_log again = read_json_lines(path.string() + ".rank2");
    CHECK(again.fits == 2);
    CHECK(again.interruptions == 1);
    CHECK(again.steps_missing <= 1);  // one that it was pushing when it died
    CHECK(again.last_step == 12);
    const run_log run = read_json_lines_of_ranks(path);
    CHECK(run.workers() == 2);
    CHECK(run.ranks.size() == 2);
}

TEST_CASE("the server of a real run is told apart from its workers") {
    std::vector<run_log> logs(4);
    const numbered examples{72};
    const parameter_server strategy{sgd{.learning_rate = 0.01}, asynchronous{}, no_compensation{},
                                    none{}, serving{.dedicated = true}};
    run_simulated(4, {}, [&](simulated& transport) {
        number_model model;
        trainer trainer{model, strategy, transport, {.batch_size = 4}};
        run_recorder recorder;
        trainer.fit(examples, epochs{2}, recorder);
        logs[static_cast<std::size_t>(transport.rank())] = recorder.log();
    });
    CHECK(logs[1].workers() == 3);
    CHECK(logs[1].by_server());
    const run_log run = merge_rank_logs(logs);
    CHECK(run.workers() == 3);
    CHECK(run.total.examples_of_all == 2.0 * 72.0);
}
