// What a server has measured, on its way to the reader: lines, log, text, report and trace.

#include <doctest/doctest.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <latch>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

#include "sotto/compressors/top_k.hpp"
#include "sotto/compressors/sparsified.hpp"
#include "sotto/compressors/residual.hpp"
#include "sotto/strategies/parameter_server/consistency/bulk_synchronous.hpp"
#include "sotto/optimizers/momentum_sgd.hpp"
#include "sotto/staleness/delay_compensation_adaptive.hpp"
#include "sotto/strategies/parameter_server.hpp"
#include "sotto/logging/chrome_trace.hpp"
#include "sotto/logging/detail/json_line_checks.hpp"
#include "sotto/logging/detail/json_lines_reader.hpp"
#include "sotto/logging/merge_rank_logs.hpp"
#include "sotto/logging/json_lines.hpp"
#include "sotto/logging/progress_bar.hpp"
#include "sotto/logging/read_json_lines.hpp"
#include "sotto/logging/run_recorder.hpp"
#include "sotto/logging/server_summary.hpp"
#include "sotto/report/detail/sections/report_servers.hpp"
#include "sotto/report/detail/sections/report_timeline.hpp"
#include "sotto/trainer/trainer.hpp"
#include "sotto/transports/diagnostics.hpp"
#include "sotto/transports/run_in_process.hpp"
#include "sotto/transports/run_simulated.hpp"
#include "support/folders.hpp"
#include "support/listener.hpp"
#include "support/made_up_run.hpp"
#include "support/numbers.hpp"

using namespace sotto;
using namespace sotto::testing;

namespace {

/// Three workers, the last one slow, and a server, on a simulated network.
template <class Strategy, class F>
void on_four_ranks(const Strategy& strategy, F f) {
    simulated_options network;
    network.machine.flops = 1e6;
    network.slowness = speeds::one_slow{.rank = 3, .factor = 4.0};
    run_simulated(4, network, [&](simulated& transport) {
        number_model model;
        trainer trainer{model, strategy, transport, {.batch_size = 4}};
        f(trainer, transport.rank());
    });
}

const numbered examples{72};  // 6 batches of 4 for each of the three workers

const parameter_server served{sgd{.learning_rate = 0.01}, asynchronous{}, no_compensation{}, none{},
                              serving{.dedicated = true}};

std::int64_t sum_of(const std::vector<std::int64_t>& counts) {
    std::int64_t sum = 0;
    for (const std::int64_t count : counts) sum += count;
    return sum;
}

/// A server and what it might have told.
server_report made_up_server() {
    return {
        .rank = 0,
        .version = 40,
        .workers = {
            {.rank = 1, .rounds = 30, .dropped = 0, .waited = 0.5, .staleness = {10, 20}},
            {.rank = 2, .rounds = 12, .dropped = 2, .waited = 0.25, .staleness = {0, 0, 4, 0, 6}}}};
}

std::string written_by(void (*tell)(progress_bar&)) {
    struct closer {
        void operator()(std::FILE* file) const { std::fclose(file); }
    };
    const std::unique_ptr<std::FILE, closer> file(std::tmpfile());
    REQUIRE(file);
    progress_bar bar(file.get());
    tell(bar);
    std::rewind(file.get());
    std::string text(4096, '\0');
    text.resize(std::fread(text.data(), 1, text.size(), file.get()));
    return text;
}

}  // namespace

TEST_CASE("what a server measured is in its log, and is read back as the server says it") {
    const scratch_folder folder("served_lines");
    const auto path = folder.path() / "run.jsonl";
    server_report told;
    detail::server_memory memory;
    on_four_ranks(served, [&](auto& trainer, int rank) {
        json_lines lines(path, {.every_rank = true});
        const fit_report report = trainer.fit(examples, epochs{2}, lines);
        CHECK(report.served.has_value() == (rank == 0));
        if (rank != 0) return;
        told = *report.served;
        memory = *trainer.state().memory_of_server();
    });
    const run_log log = read_json_lines(path);
    REQUIRE(log.servers.size() == 1);
    CHECK(log.servers.front() == told);
    REQUIRE(log.about.serves.has_value());
    CHECK(*log.about.serves == memory);
    CHECK(log.steps == 0);

    // Each worker did 12 rounds, all of which were applied, and the slow one's came later.
    CHECK(told.version == 36);
    REQUIRE(told.workers.size() == 3);
    for (const detail::served_worker& w : told.workers) {
        CHECK(w.rounds == 12);
        CHECK(w.dropped == 0);
        CHECK(sum_of(w.staleness) == 12);
    }
    CHECK(told.workers[2].rank == 3);
    CHECK(told.workers[2].mean_late() > told.workers[0].mean_late());
    CHECK(read_json_lines(path.string() + ".rank1").servers.empty());
}

TEST_CASE("gradients that a server does without are counted for their worker, and no others") {
    const parameter_server strategy{sgd{.learning_rate = 0.01}, bulk_synchronous{.backups = 1},
                                    no_compensation{}, none{}, serving{.dedicated = true}};
    server_report told;
    std::int64_t dropped = 0;
    on_four_ranks(strategy, [&](auto& trainer, int rank) {
        const fit_report report = trainer.fit(examples, epochs{2}, [&](const step_report& step) {
            dropped += step.round.dropped ? 1 : 0;
        });
        if (rank == 0) told = *report.served;
    });
    REQUIRE(told.workers.size() == 3);
    CHECK(told.workers[2].dropped > 0);
    std::int64_t counted = 0;
    for (const detail::served_worker& w : told.workers) {
        CHECK(w.applied() == sum_of(w.staleness));
        counted += w.dropped;
    }
    CHECK(counted == dropped);
}

TEST_CASE("who is fast waits at bulk synchrony, and nobody does without it") {
    const auto waited = [](const auto& strategy) {
        std::vector<double> seconds;
        on_four_ranks(strategy, [&](auto& trainer, int rank) {
            const fit_report report = trainer.fit(examples, epochs{1});
            if (rank == 0)
                for (const detail::served_worker& w : report.served->workers)
                    seconds.push_back(w.waited);
        });
        return seconds;
    };
    const auto bulk = waited(parameter_server{sgd{}, bulk_synchronous{}, no_compensation{}, none{},
                                              serving{.dedicated = true}});
    // But for the microseconds, of virtual time, that messages before its own take to leave.
    constexpr double at_once = 1e-4;
    CHECK(bulk[0] > 100.0 * at_once);
    CHECK(bulk[1] > 100.0 * at_once);
    CHECK(bulk[2] < at_once);  // the slow one is answered as soon as it pushes
    for (const double seconds : waited(served)) CHECK(seconds < at_once);
}

TEST_CASE("a server's memory is known before the first step, part by part") {
    const auto memory_of = [](const auto& strategy) {
        std::optional<detail::server_memory> found;
        on_four_ranks(strategy, [&](auto& trainer, int rank) {
            struct at_begin {
                std::optional<detail::server_memory>* to;
                void on_begin(const run_info& info) const { *to = info.serves; }
            };
            std::optional<detail::server_memory> mine;
            trainer.fit(examples, steps{1}, at_begin{&mine});
            CHECK(mine.has_value() == (rank == 0));
            if (rank == 0) found = mine;
            if (rank == 0)
                CHECK(static_cast<std::int64_t>(trainer.state().server()->kept_bytes()) <=
                      mine->versions);
        });
        return *found;
    };
    number_model model;
    const std::int64_t n = model.layout().size();
    const auto plain = memory_of(served);
    CHECK(plain.parameters == 8 * n);
    CHECK(plain.optimizer == 0);
    CHECK(plain.compensator == 0);
    CHECK(plain.versions == 3 * 4 * n);  // one for each worker
    CHECK(plain.messages >= 4 * n);
    CHECK(plain.together() == plain.parameters + plain.versions + plain.changes + plain.messages);

    const auto all =
        memory_of(parameter_server{momentum_sgd{}, asynchronous{}, delay_compensation_adaptive{},
                                   none{}, serving{.dedicated = true}});
    CHECK(all.optimizer == 4 * n);
    CHECK(all.compensator == 4 * n);

    // In rounds workers share what they have read: the present one's and the last one's copy.
    const auto rounds = memory_of(parameter_server{sgd{}, bulk_synchronous{}, no_compensation{},
                                                   none{}, serving{.dedicated = true}});
    CHECK(rounds.versions == 2 * 4 * n);

    const auto sparse = memory_of(parameter_server{sgd{}, asynchronous{}, no_compensation{},
                                                   sparsified{top_k{.density = 0.1}, residual{}},
                                                   serving{.dedicated = true}});
    CHECK(plain.changes == 0);
    CHECK(sparse.changes > 0);
    CHECK(sparse.changes < 4 * n);
}

TEST_CASE("a log is recorded as it would be read from its lines") {
    const scratch_folder folder("served_recorded");
    const auto path = folder.path() / "run.jsonl";
    std::vector<run_log> recorded(4);
    on_four_ranks(served, [&](auto& trainer, int rank) {
        run_recorder recorder;
        json_lines lines(path, {.every_rank = true});
        trainer.fit(examples, epochs{2}, lines, recorder);
        recorded[static_cast<std::size_t>(rank)] = recorder.log();
    });
    const run_log read = read_json_lines_of_ranks(path), joined = merge_rank_logs(recorded);
    CHECK(read.name == "run");
    CHECK(read.servers == joined.servers);
    CHECK(read.timeline == joined.timeline);
    CHECK(read.others == joined.others);
    CHECK(read.about.rank == 1);
    CHECK(read.steps == 12);
    REQUIRE(read.others.size() == 2);
    REQUIRE(read.timeline.steps.size() == 12);
    CHECK(read.timeline.by_clock);
    // One step after the other, on the network's clock.
    for (const auto* ranks : {&read.timeline, &read.others[0], &read.others[1]})
        for (std::size_t s = 1; s < ranks->steps.size(); ++s)
            CHECK(ranks->steps[s].began >= ranks->steps[s - 1].ended() - 1e-9);
    CHECK(read.others[1].rank == 3);
    CHECK(read.others[1].steps[0].compute == doctest::Approx(4.0 * read.timeline.steps[0].compute));
}

TEST_CASE("logs of an earlier and larger run are not taken for this one's") {
    const scratch_folder folder("served_stale");
    const auto path = folder.path() / "run.jsonl";
    const auto run = [&](int ranks) {
        run_in_process(ranks, [&](in_process& transport) {
            number_model model;
            trainer trainer{model, parameter_server{sgd{}}, transport, {.batch_size = 4}};
            json_lines lines(path, {.every_rank = true});
            trainer.fit(examples, epochs{1}, lines);
        });
    };
    run(4);
    run(2);
    CHECK(std::filesystem::exists(path.string() + ".rank3"));
    CHECK(read_json_lines_of_ranks(path).others.size() == 1);
}

TEST_CASE("logs from before servers told of themselves are read as they were") {
    detail::json_lines_reader reader("old");
    reader.line(R"({"event":"run","rank":0,"world_size":2,"epochs":1,"examples":8,)"
                R"("steps_an_epoch":2,"step":0,"options":{},"tensors":[]})");
    const std::string costs =
        R"("examples":4,"load_seconds":0.25,"compute_seconds":0.5,"compress_seconds":0,)"
        R"("wait_seconds":0.25,"apply_seconds":0,"dense_bytes":8,"message_bytes":8,)"
        R"("bytes_sent":8,"bytes_received":8)";
    reader.line(R"({"event":"step","step":1,"epoch":0,"seconds_since_start":1.5,"rank_loss":1,)" +
                costs + R"(,"tensor_message_bytes":[]})");
    const run_log& log = reader.log();
    CHECK(log.servers.empty());
    CHECK_FALSE(log.about.serves.has_value());
    REQUIRE(log.timeline.steps.size() == 1);
    CHECK_FALSE(log.timeline.by_clock);
    CHECK(log.timeline.steps[0].began == 0.5);
    CHECK(log.timeline.waiting_share() == 0.25);
}

TEST_CASE("a server's line that cannot be is refused, and changes nothing") {
    detail::json_lines_reader reader("made up");
    reader.line(R"({"event":"run","rank":0,"world_size":2,"epochs":1,"examples":8,)"
                R"("steps_an_epoch":2,"step":0,"options":{},"tensors":[]})");
    const auto line = [&](const char* worker) {
        reader.line(std::string(R"({"event":"server","rank":0,"version":3,"workers":[)") + worker +
                    "]}");
    };
    line(R"({"rank":1,"rounds":3,"dropped":1,"waited_seconds":0.5,"staleness":[1,1]})");
    const auto before = reader.log().servers;
    CHECK(before.front().workers.front().applied() == 2);
    for (const char* const wrong :
         {R"({"rank":1,"rounds":3,"dropped":4,"waited_seconds":0,"staleness":[]})",
          R"({"rank":-1,"rounds":3,"dropped":1,"waited_seconds":0,"staleness":[]})",
          R"({"rank":1,"rounds":3,"dropped":1,"waited_seconds":-1,"staleness":[]})",
          R"({"rank":1,"rounds":3,"dropped":1,"waited_seconds":0,"staleness":[-1]})",
          R"({"rank":1,"rounds":3,"dropped":1,"waited_seconds":0})", "7"})
        CHECK_THROWS_AS(line(wrong), detail::malformed_log);
    CHECK(reader.log().servers == before);
    std::string many = "0";
    for (int i = 0; i < 4096; ++i) many += ",0";
    CHECK_THROWS_AS(
        line((R"({"rank":1,"rounds":3,"dropped":0,"waited_seconds":0,"staleness":[)" + many + "]}")
                 .c_str()),
        detail::malformed_log);
}

TEST_CASE("the progress bar tells a server's memory first, and what it saw in the end") {
    CHECK(written_by([](progress_bar& bar) {
              bar.on_begin(
                  {.epochs = 1,
                   .serves = detail::server_memory{.parameters = 2048, .versions = 3 << 20}});
              fit_report report;
              report.served = made_up_server();
              bar.on_end(report);
          }) ==
          "the server takes at most 3.0 MiB of memory: parameters and a gradient 2.0 KiB, copies "
          "of parameters that workers have read 3.0 MiB\n"
          "the server on rank 0 took 40 steps\n"
          "  of 42 gradients in all 2 were dropped (4.8 %)\n"
          "  rank 1: 30 gradients, 0 of them dropped (0.0 %), 0.67 steps late on the mean, 1 at "
          "most, held back by the server 0.50 s\n"
          "  rank 2: 12 gradients, 2 of them dropped (16.7 %), 3.20 steps late on the mean, 4 at "
          "most, held back by the server 0.25 s\n");
    CHECK(written_by([](progress_bar& bar) {
              bar.on_begin({.rank = 1, .serves = detail::server_memory{}});
              fit_report report;
              report.served = made_up_server();
              bar.on_end(report);
          }).empty());
}

TEST_CASE("the report draws how late gradients came, a row of bars for each worker") {
    run_log log = made_up("served", 20, 1.0, 0.9);
    const std::string without = page({log});
    CHECK_FALSE(has(without, "How late gradients came"));
    CHECK_FALSE(has(without, "Who computed, waited and sent"));
    log.add(made_up_server());
    log.about.serves = detail::server_memory{.parameters = 2048, .versions = 1024};
    const std::string text = page({log});
    CHECK(fault_of(text) == "");
    CHECK(has(text, "How late gradients came"));
    CHECK(has(text, "0 steps late: 33.3"));
    CHECK(has(text, "1 step late: 66.7"));
    CHECK(has(text, "4 steps late: 60.0"));
    CHECK_FALSE(has(text, "3 steps late"));
    CHECK(has(text, "copies of parameters that workers have read 1\u202fKiB"));
    CHECK(has(text, "40 steps, 4.8\u202f% of all gradients dropped."));
    CHECK(has(text, "<td>12</td><td>2</td><td>16.7\u202f%</td>"));
    CHECK(has(text, "<th>all</th><td>42</td><td>2</td><td>4.8\u202f%</td>"));
    std::size_t rows = 0;
    for (std::size_t at = 0; (at = text.find("<svg class=\"bars\"", at)) != text.npos; ++at) ++rows;
    CHECK(rows == 2);
}

TEST_CASE("ranks that went, and rounds that a server forgot, are told wherever a run is") {
    const scratch_folder folder("lost_ranks");
    const auto path = folder.path() / "run.jsonl";
    const layout tensors = small_layout();
    fit_report report;
    report.served = made_up_server();
    report.served->workers[1].lost = 7;
    report.losses = {{.rank = 2, .cause = "silent"},
                     {.rank = 0, .cause = "reset", .rounds = 5},
                     {.rank = 1, .cause = "cut", .step = 3, .seconds = 1.5, .again_step = 9}};
    const run_info info{.parameters = &tensors, .servers_forget = true};
    {
        json_lines lines(path);
        lines.on_begin(info);
        lines.on_end(report);
    }
    run_recorder recorder;
    recorder.on_begin(info);
    recorder.on_end(report);
    const run_log read = read_json_lines(path);
    for (const run_log* const log : {&read, &recorder.log()}) {
        CHECK(log->losses == report.losses);
        REQUIRE(log->servers.size() == 1);
        CHECK(log->servers.front() == *report.served);
        const std::string text = sotto::detail::reporting::servers_section({log, 1});
        CHECK(has(text, "rank 2 went: silent. rank 0 went: reset; it came again without 5 rounds"));
        CHECK(has(text, "rank 1 went after step 3 (1.5 s): cut; it was there again after step 9"));
        CHECK(has(text, "<th>lost</th>"));
        CHECK(has(text, "<td>7</td></tr>"));
    }

    static const fit_report* told = nullptr;
    told = &report;
    const std::string text = written_by([](progress_bar& bar) {
        bar.on_begin({.epochs = 1, .servers_forget = true});
        bar.on_end(*told);
    });
    CHECK(text.starts_with("a server that fails begins anew: "));
    CHECK(has(text, "7 rounds of it had been acknowledged and were lost when the server failed"));
    CHECK(has(text, "rank 2 went: silent\n"));
    CHECK(has(text, "it came again without 5 rounds of this rank that it had acknowledged\n"));
}

TEST_CASE("bars stand for several steps where gradients came very late") {
    server_report server = made_up_server();
    server.workers[0].staleness.assign(4096, 1);
    const sotto::detail::reporting::staleness_bars bars(server);
    CHECK(bars.each() == 86);
    const std::string svg = bars.svg(server.workers[0]);
    CHECK(has(svg, "0 to 85 steps late: 2.1"));
    std::size_t count = 0;
    for (std::size_t at = 0; (at = svg.find("<rect", at)) != svg.npos; ++at) ++count;
    CHECK(count <= sotto::detail::reporting::staleness_bars::bars_max);
}

TEST_CASE("the timeline draws every rank in the time in which all were at work") {
    // Rank 0 does a step in 1 s, rank 1 in 4 s; both begin at 100 s of one clock.
    std::vector<run_log> ranks(2);
    for (int rank = 0; rank < 2; ++rank) {
        run_log& log = ranks[static_cast<std::size_t>(rank)];
        log.name = "two";
        log.begin({.rank = rank, .world_size = 2});
        const double slow = rank == 0 ? 1.0 : 4.0;
        for (int s = 0; s < 100; ++s)
            log.add(run_log::step{.number = s + 1,
                                  .seconds = slow * (s + 1),
                                  .costs = {.examples = 4,
                                            .load = 0.1 * slow,
                                            .compute = 0.5 * slow,
                                            .compress = 0.1 * slow,
                                            .wait = 0.2 * slow,
                                            .apply = 0.1 * slow,
                                            .bytes_sent = 2048},
                                  .clock = 100.0 + slow * s});
        log.end(100.0 * slow, false);
    }
    const run_log run = merge_rank_logs(ranks);
    const sotto::detail::reporting::timeline_chart chart(run);
    CHECK_FALSE(chart.empty());
    CHECK(chart.length() == doctest::Approx(24.0));  // 24 steps of the fast one, 6 of the slow one
    const std::string svg = chart.svg("ranks");
    CHECK(fault_of(svg) == "");
    const auto count = [&](const char* what) {
        std::size_t found = 0;
        for (std::size_t at = 0; (at = svg.find(what, at)) != svg.npos; ++at) ++found;
        return found;
    };
    CHECK(count(">rank 0</text>") == 1);
    CHECK(count(">rank 1</text>") == 1);
    CHECK(count("compute of step") == 24 + 6);
    CHECK(count("wait of step") == 24 + 6);
    CHECK(count("class=\"sent\"") == 24 + 6);
    CHECK(has(page({run}), "Who computed, waited and sent"));

    // Clocks of machines that were started at other times: each since its own first step.
    for (detail::timed_step& s : ranks[1].timeline.steps) s.began += 1e6;
    CHECK(sotto::detail::reporting::timeline_chart(merge_rank_logs(ranks)).length() ==
          doctest::Approx(24.0));
}

TEST_CASE("a trace of a parameter server's worker has one row, of load to apply") {
    const scratch_folder folder("served_trace");
    const auto path = folder.path() / "trace.json";
    on_four_ranks(served, [&](auto& trainer, int) {
        trainer.fit(examples, epochs{2}, chrome_trace{path, {.first_step = 2, .steps = 3}});
    });
    for (int rank = 1; rank < 4; ++rank) {
        std::ifstream in(path.string() + ".rank" + std::to_string(rank));
        std::string text{std::istreambuf_iterator<char>(in), {}};
        REQUIRE(text.ends_with(",\n"));
        text.replace(text.size() - 2, 2, "]");
        std::set<std::string> kinds, rows;
        double end = 0.0;
        std::ptrdiff_t computed = 0;
        for (const auto& e : nlohmann::json::parse(text)) {
            if (e.at("name") == "thread_name") rows.insert(e.at("args").at("name"));
            if (e.at("ph") != "X") continue;
            CHECK(e.at("pid") == rank);
            CHECK(e.at("tid") == 0);
            CHECK(e.at("ts").get<double>() >= end - 0.01);
            end = e.at("ts").get<double>() + e.at("dur").get<double>();
            kinds.insert(e.at("cat"));
            computed += e.at("cat") == "compute" ? 1 : 0;
        }
        CHECK(rows == std::set<std::string>{"worker"});
        CHECK(computed == 3);
        CHECK(kinds.count("wait") == 1);
    }
}

TEST_CASE("what a server saved, and what it could not save, is told truthfully wherever a run is") {
    using told = std::string;
    CHECK(summary_of(detail::server_saves{}) == told("it saved nothing of what it holds"));
    CHECK(summary_of(detail::server_saves{.folder = "kept", .written = 1, .last_step = 40}) ==
          "it saved what it holds once in 'kept', last after its step 40");
    CHECK(summary_of(detail::server_saves{.folder = "kept", .failed = 3, .failure = "no space"}) ==
          "it saved nothing of what it holds; saving failed 3 times, last: no space");

    const scratch_folder folder("served_saves");
    const auto path = folder.path() / "run.jsonl", kept = folder.path() / "kept";
    const testing::listener heard;
    std::vector<std::string> incomplete;
    const auto saved = [&](bool possible) {
        std::optional<server_report> of_server;
        run_in_process(2, [&](in_process& transport) {
            number_model model;
            const parameter_server strategy{
                sgd{}, asynchronous{}, no_compensation{}, none{},
                serving{.dedicated = true, .checkpoints = kept, .every = 4}};
            trainer trainer{model, strategy, transport, {.batch_size = 4}};
            const auto spoil = [&](const step_report& step) {
                if (possible || transport.rank() != 1 || step.step != 1) return;
                std::filesystem::remove_all(kept);
                std::ofstream{kept} << "no folder can be made here";
            };
            const fit_report report = trainer.fit(numbered{32}, epochs{1}, spoil, json_lines{path});
            if (transport.rank() == 0) {
                of_server = report.served;
                incomplete = report.incomplete;
            }
        });
        REQUIRE(of_server->saves.has_value());
        CHECK(read_json_lines(path).servers.front() == *of_server);
        return *of_server->saves;
    };
    const detail::server_saves worked = saved(true);
    CHECK(worked.written == 2);
    CHECK(worked.failed == 0);
    CHECK(worked.last_step == 8);
    CHECK(heard.all().empty());
    CHECK(incomplete.empty());
    std::filesystem::remove_all(kept);
    const detail::server_saves failed = saved(false);
    CHECK(failed.written == 0);
    CHECK(failed.last_step == 0);
    CHECK(failed.failed == 2);
    CHECK(has(failed.failure, kept.string()));
    CHECK(incomplete == std::vector<std::string>{"what the server holds was not saved in '" +
                                                 failed.folder + "': " + failed.failure});
    const auto said = heard.all();
    REQUIRE(said.size() == 2);  // the moment that they failed
    CHECK(said[0].rank == 0);
    CHECK(has(said[0].text, "what the server held after step 4 was not saved: parameter_server: "));

    run_log log = made_up("served", 20, 1.0, 0.9);
    server_report server = made_up_server();
    server.saves = failed;
    log.add(server);
    CHECK(has(page({log}), "it saved nothing of what it holds; saving failed 2 times, last: "));
}

TEST_CASE("dropped gradients are remarked at once, a worker's first, 10th and 100th alone") {
    const parameter_server strategy{sgd{.learning_rate = 0.01}, bulk_synchronous{.backups = 1},
                                    no_compensation{}, none{}, serving{.dedicated = true}};
    const testing::listener heard;
    std::int64_t dropped = 0;
    std::latch first_steps(2);
    run_in_process(3, [&](in_process& transport) {
        number_model model;
        trainer trainer{model, strategy, transport, {.batch_size = 1}};
        const auto both = [&](const step_report& step) {  // none is done before the other begins
            if (step.step == 1) first_steps.arrive_and_wait();
        };
        const fit_report report = trainer.fit(numbered{80}, epochs{1}, both);
        if (transport.rank() == 0) dropped = report.served->dropped();
    });
    CHECK(dropped > 0);
    CHECK(!heard.all().empty());
    CHECK(heard.all().size() <= 4);  // of 40 gradients of each of two
    for (const diagnostic& r : heard.all())
        CHECK(has(r.text, "came too late for its round and was dropped"));

    const testing::listener silence;  // on a simulated network nobody says a word
    dropped = 0;
    on_four_ranks(strategy, [&](auto& trainer, int rank) {
        const fit_report report = trainer.fit(examples, epochs{2});
        if (rank == 0) dropped = report.served->dropped();
    });
    CHECK(dropped > 0);
    CHECK(silence.all().empty());
}

TEST_CASE("a log says whether ranks are in step and which network was simulated, a report too") {
    const scratch_folder folder("served_terms");
    const auto path = folder.path() / "run.jsonl";
    run_recorder recorder;
    on_four_ranks(served, [&](auto& trainer, int rank) {
        json_lines lines(path, {.every_rank = true});
        if (rank == 1)
            trainer.fit(examples, epochs{1}, lines, recorder);
        else
            trainer.fit(examples, epochs{1}, lines);
    });
    const run_log read = read_json_lines(path.string() + ".rank1");
    for (const run_log* const log : {&read, &recorder.log()}) {
        CHECK_FALSE(log->in_step());
        CHECK(log->about.simulated_network ==
              "1000 Mbit/s of payload out and 1000 in, latency 0.05 ms, seed 0; each rank 0.001 "
              "Gflop/s and 10 GB/s of memory, rank 3 4 times slower");
        const std::string text = page({*log});
        CHECK(fault_of(text) == "");
        CHECK(
            has(text, "are simulated seconds, which no machine took, on a network of 1000 Mbit/s"));
        CHECK(has(text, "simulated seconds</text>"));
        CHECK(has(text, "Loss while training, of rank 1 alone"));
        CHECK(has(text, "need not be in step"));
    }
    const run_log measured = made_up("measured", 20, 1.0, 0.9);
    const std::string alone = page({measured});
    CHECK_FALSE(has(alone, "simulated"));
    CHECK(has(alone, "Loss while training, mean of all ranks"));
    const std::string both = page({measured, read});
    CHECK(has(both, "seconds, some of them simulated"));
    CHECK(has(both, "Loss while training, of all ranks or of one"));
}

TEST_CASE("the progress bar says whose losses it shows, and that times are simulated") {
    const std::string text = written_by([](progress_bar& bar) {
        bar.on_begin(
            {.world_size = 2, .epochs = 1, .in_step = false, .simulated_network = "8 Mbit/s"});
        bar.on_epoch({.epoch = 1, .seconds = 2.0});
        fit_report report;
        report.served = made_up_server();
        bar.on_end(report);
    });
    CHECK(has(text, "workers need not be in step: losses are rank 0's own\n"));
    CHECK(has(text, "times are simulated, on a network of 8 Mbit/s\n"));
    CHECK(has(text, "  2.0 s (simulated)\n"));
    CHECK(has(text, "held back by the server 0.50 s (simulated)\n"));
}
