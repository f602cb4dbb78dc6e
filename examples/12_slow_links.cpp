// Trains one job over slow links in six ways, on a simulated network. The first two send whole
// gradients, or gradients with Deep Gradient Compression. In the others ranks take many local steps
// between exchanges: local SGD, DiLoCo, SparseLoCo, and NoLoCo, where only pairs exchange. Prints
// the time, the bytes sent and the final loss and accuracy of each.

#include <sotto/models.hpp>
#include <sotto/sotto.hpp>
#include <sotto/report/advice.hpp>
#include <sotto/logging/merge_rank_logs.hpp>
#include <sotto/report/report.hpp>
#include <sotto/logging/run_recorder.hpp>
#include <sotto/transports/run_simulated.hpp>

#include <CLI/CLI.hpp>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "transport.hpp"

namespace {

struct settings {
    double rate = 0.1, megabits = 10.0, milliseconds = 20.0, flops = 5e9;
    std::int64_t passes = 20, every = 30;
    sotto::training_options training{.batch_size = 16};
    examples::transport_options transport{};
    std::string report = "slow_links.html";
    bool quick = false;
};

struct outcome {
    double seconds = 0.0;    // simulated time
    std::int64_t steps = 0;  // of one rank
    sotto::evaluation unseen;
    sotto::run_log log;  // log of all ranks
};

outcome train(const settings& s, const auto& strategy) {
    using namespace sotto;
    const auto digits = data::digits(s.quick ? 2'000 : 10'000, random_stream{1});
    const auto unseen = data::digits(2'000, random_stream{2});
    simulated_options network = examples::network_of(s.transport);
    network.seed = s.training.seed;
    network.line = {.out = 1.25e5 * s.megabits,
                    .in = 1.25e5 * s.megabits,
                    .latency = std::chrono::duration_cast<duration>(
                        std::chrono::duration<double, std::milli>(s.milliseconds))};
    network.machine.flops = s.flops;
    network.dead_after = {};
    outcome found;
    std::vector<run_log> logs(static_cast<std::size_t>(s.transport.workers));
    run_simulated(s.transport.workers, network, [&](simulated& transport) {
        models::mlp model{784, 256, 10};
        trainer trainer{model, strategy, transport, s.training};
        run_recorder recorder;
        const fit_report report = trainer.fit(digits, epochs{s.passes}, recorder);
        logs[static_cast<std::size_t>(transport.rank())] = recorder.log();
        const evaluation measured = trainer.evaluate(unseen);
        if (transport.rank() != 0) return;
        found.seconds = report.seconds;
        found.steps = report.steps;
        found.unseen = measured;
    });
    found.log = merge_rank_logs(std::move(logs));
    return found;
}

}  // namespace

int main(int argc, char** argv) {
    settings s;
    CLI::App app{"One job over slow links, in six ways", "slow_links"};
    app.option_defaults()->always_capture_default();
    app.add_option("--ranks", s.transport.workers, "All of which work")
        ->check(examples::number_from(2, 1000));
    app.add_option("--megabits", s.megabits, "Of every rank's line, a second")
        ->check(examples::number_from(0.001, 1e6));
    app.add_option("--latency", s.milliseconds, "Of every line, in milliseconds")
        ->check(examples::number_from(0.0, 1e5));
    app.add_option("--flops", s.flops, "That every rank computes a second")
        ->check(examples::number_from(1e3, 1e18));
    CLI::Option* const every =
        app.add_option("--every", s.every, "Steps of their own between two meetings")
            ->check(examples::at_least_one);
    app.add_option("--learning-rate", s.rate, "Of the ranks' steps")
        ->check(examples::number_above(0.0, 1e6));
    CLI::Option* const passes = app.add_option("--epochs", s.passes, "Epochs: passes over the data")
                                    ->check(examples::at_least_one);
    app.add_option("--batch-size", s.training.batch_size, "Of one rank")
        ->check(examples::number_from(1, 1e6));
    app.add_option("--seed", s.training.seed,
                   "Of starting values, the order of data and the network")
        ->check(examples::whole_number);
    app.add_option("--report", s.report, "The HTML file to write");
    app.add_flag("--quick", s.quick, "A few seconds: fewer digits, two epochs");
    return examples::run(app, argc, argv, [&] {
        using namespace sotto;
        examples::require_writable({{"--report", s.report, true}});
        if (s.quick && passes->count() == 0) s.passes = 2;
        if (s.quick && every->count() == 0) s.every = 5;
        const momentum_sgd heavy{.learning_rate = s.rate, .momentum = 0.9};
        const sgd plain{.learning_rate = s.rate};
        std::printf("%d ranks, lines of %.6g Mbit/s and %.6g ms; seconds are simulated\n",
                    s.transport.workers, s.megabits, s.milliseconds);
        std::printf("%-40s %10s %15s %8s %8s %10s\n", "", "seconds", "MiB a rank sent", "at most",
                    "loss", "accuracy");
        std::vector<run_log> runs;
        std::int64_t steps = 0;
        const auto row = [&](const char* name, const auto& strategy) {
            outcome found = train(s, strategy);
            steps = found.steps;
            const auto sent = found.log.sent();
            found.log.name = name;
            runs.push_back(std::move(found.log));
            std::printf("%-40s %10.2f %15.3f %8.3f %8.3f %8.2f %%\n", name, found.seconds,
                        sent.mean / 1048576.0, sent.most / 1048576.0, found.unseen.loss,
                        100.0 * found.unseen.accuracy);
        };
        row("all-reduce", all_reduce{heavy});
        row("all-reduce, Deep Gradient Compression", all_reduce{plain, dgc{.density = 0.001}});
        row("local SGD",
            local_updates{heavy, all_reduce{sgd{.learning_rate = 1.0}}, {.every = s.every}});
        row("DiLoCo",
            local_updates{adamw{.learning_rate = s.rate / 100.0}, diloco(), {.every = s.every}});
        row("SparseLoCo",
            local_updates{
                adamw{.learning_rate = s.rate / 100.0}, sparse_loco(), {.every = s.every}});
        row("NoLoCo, in pairs",
            local_updates{adamw{.learning_rate = s.rate / 100.0}, noloco{}, {.every = s.every}});
        if (s.every > steps)
            std::printf("--every %lld is more than the %lld steps: ranks met in the end alone\n",
                        static_cast<long long>(s.every), static_cast<long long>(steps));
        std::printf(
            "NoLoCo sends 8 bytes a parameter and meeting to one other rank, however many "
            "there are;\nDiLoCo's all-reduce of %d ranks %.3g. What it saves is that all "
            "wait for all.\n",
            s.transport.workers, 8.0 * (s.transport.workers - 1) / s.transport.workers);
        // A message crosses two lines: those of its sender and its receiver.
        const network_link link{.bytes_per_second = 1.25e5 * s.megabits,
                                .latency_seconds = 2e-3 * s.milliseconds};
        sotto::write_report(runs, s.report, {.title = "One job over slow links", .link = link});
        std::printf("Where the time went: %s\n", std::filesystem::absolute(s.report).c_str());
        return 0;
    });
}
