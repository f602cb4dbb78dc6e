// Trains with one slow worker in five ways and prints how long each takes to reach a target loss,
// on a simulated network. Two ways use rounds, which wait for the slow worker or drop the last
// gradient. One limits how far workers can be ahead. In the last two, workers never wait, without
// and with delay compensation.

#include <sotto/models.hpp>
#include <sotto/sotto.hpp>
#include <sotto/logging/merge_rank_logs.hpp>
#include <sotto/report/report.hpp>
#include <sotto/logging/run_recorder.hpp>
#include <sotto/transports/run_simulated.hpp>

#include <CLI/CLI.hpp>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "transport.hpp"

namespace {

struct settings {
    double rate = 0.05, target = 0.35;
    std::int64_t passes = 20;
    sotto::training_options training{};
    examples::transport_options transport{.workers = 9, .slow = 5.0, .flops = 1e9};
    std::string report = "stragglers.html";
    bool quick = false;
};

struct outcome {
    std::optional<double> seconds;  // time to the target; empty: not reached
    std::uint64_t steps = 0;
    double waited = 0.0;  // share of worker 1's time
    sotto::run_log log;   // log of all ranks
};

/// Trains on simulated time, so that results are the same on every machine.
outcome train(const settings& s, const auto& strategy) {
    using namespace sotto;
    const auto digits = data::digits(s.quick ? 2'000 : 10'000, random_stream{1});
    const auto unseen = data::digits(1'000, random_stream{2});
    simulated_options network = examples::network_of(s.transport);
    network.dead_after = {};
    outcome found;
    struct at_server {  // shared by ranks, which run one at a time
        std::function<double()> loss;
        std::function<std::uint64_t()> version;
    };
    std::optional<at_server> server;
    std::int64_t pushed = 0, checked = 0;
    std::vector<run_log> logs(static_cast<std::size_t>(s.transport.workers));
    run_simulated(s.transport.workers, network, [&](simulated& transport) {
        models::mlp model{784, 64, 10};
        trainer trainer{model, strategy, transport, s.training};
        sotto::detail::evaluator<models::mlp<>> measuring(256, transport);
        // Resets `server` before the trainer that it reads is destroyed, also on an exception.
        struct until_end {
            std::optional<at_server>* shown;
            ~until_end() {
                if (shown) shown->reset();
            }
        } const guard{transport.rank() == 0 ? &server : nullptr};
        if (transport.rank() == 0)
            server = at_server{
                .loss =
                    [&] {
                        return measuring.alone(model, trainer.state().server()->own(), unseen).loss;
                    },
                .version = [&] { return trainer.state().server()->version(); }};
        const auto check = [&](const step_report& step) {
            pushed += step.round.examples;
            if (found.seconds || !server || pushed - checked < 1000) return;
            checked = pushed;
            if (server->loss() > s.target) return;
            found.seconds = in_seconds(transport.now().time_since_epoch());
            found.steps = server->version();
        };
        const auto until_reached = [&](const epoch_report&) {
            return found.seconds ? fit_control::stop : fit_control::keep_going;
        };
        run_recorder recorder;
        const fit_report report =
            trainer.fit(digits, epochs{s.passes}, check, until_reached, recorder);
        logs[static_cast<std::size_t>(transport.rank())] = recorder.log();
        if (transport.rank() == 1 && report.seconds > 0.0)
            found.waited = in_seconds(report.total.wait) / report.seconds;
        if (transport.rank() == 0 && !found.seconds)
            found.steps = trainer.state().server()->version();
    });
    found.log = merge_rank_logs(std::move(logs));
    return found;
}

}  // namespace

int main(int argc, char** argv) {
    settings s;
    CLI::App app{"One slow worker, and five ways to live with it", "stragglers"};
    app.option_defaults()->always_capture_default();
    app.add_option("--ranks", s.transport.workers, "One of them serves, the others are workers")
        ->check(examples::number_from(3, 1000));
    app.add_option("--slow", s.transport.slow, "How much slower the last rank computes")
        ->check(examples::number_from(1.0, 1e6));
    app.add_option("--megabits", s.transport.megabits, "Of every rank's line, a second")
        ->check(examples::number_from(0.001, 1e6));
    app.add_option("--flops", s.transport.flops, "That every rank computes a second")
        ->check(examples::number_from(1e3, 1e18));
    app.add_option("--learning-rate", s.rate, "By which each gradient moves, in rounds too")
        ->check(examples::number_above(0.0, 1e6));
    CLI::Option* const target_option =
        app.add_option("--target", s.target, "Loss on unseen data at which the clock stops")
            ->check(examples::number_above(0.0, 1e6));
    app.add_option("--epochs", s.passes,
                   "Epochs at most: passes of each worker over its share of the data")
        ->check(examples::at_least_one);
    app.add_option("--batch-size", s.training.batch_size, "Of one worker")
        ->check(examples::number_from(1, 1e6));
    app.add_option("--seed", s.transport.seed, "Of speeds")->check(examples::whole_number);
    app.add_option("--report", s.report, "The HTML file to write");
    app.add_flag("--quick", s.quick, "A few seconds: fewer digits, an easier target");
    return examples::run(app, argc, argv, [&] {
        using namespace sotto;
        examples::require_writable({{"--report", s.report, true}});
        if (s.quick && target_option->count() == 0) s.target = 1.5;
        s.training.seed = s.transport.seed;
        const sgd by{.learning_rate = s.rate};
        const serving servers{.dedicated = true};
        std::printf("%d workers, the last %.3g times slower than the others, on a network of\n%s\n",
                    s.transport.workers - 1, s.transport.slow,
                    describe(examples::network_of(s.transport)).c_str());
        std::puts(
            "Seconds are simulated, steps the server's. Every gradient moves by the\n"
            "whole rate: gradients of a round are added (averaged = false). The default of rounds\n"
            "and bounds is their mean, at which each moves by the rate / workers.");
        char target[32];
        std::snprintf(target, sizeof target, "to loss %.3g", s.target);
        std::printf("%-44s %16s %10s %16s\n", "", target, "steps", "worker 1 waited");
        std::vector<run_log> runs;
        const auto row = [&](const char* name, const auto& strategy) {
            outcome found = train(s, strategy);
            char seconds[48];
            if (found.seconds)
                std::snprintf(seconds, sizeof seconds, "%.2f sim. s", *found.seconds);
            else
                std::snprintf(seconds, sizeof seconds, "not in %lld epochs",
                              static_cast<long long>(s.passes));
            found.log.name = name;
            found.log.diagnostics.push_back(
                {0, std::string(target) + " of unseen data: " + seconds, false});
            runs.push_back(std::move(found.log));
            std::printf("%-44s %16s %10llu %14.0f %%\n", name, seconds,
                        static_cast<unsigned long long>(found.steps), 100.0 * found.waited);
        };
        row("bulk synchronous", parameter_server{by, bulk_synchronous{.averaged = false},
                                                 no_compensation{}, none{}, servers});
        row("bulk synchronous, one backup worker",
            parameter_server{by, bulk_synchronous{.backups = 1, .averaged = false},
                             no_compensation{}, none{}, servers});
        row("stale synchronous, at most 3 rounds ahead",
            parameter_server{by, stale_synchronous{.bound = 3, .averaged = false},
                             no_compensation{}, none{}, servers});
        row("asynchronous",
            parameter_server{by, asynchronous{}, no_compensation{}, none{}, servers});
        row("asynchronous, delay compensated (DC-ASGD-a)",
            parameter_server{by, asynchronous{}, delay_compensation_adaptive{}, none{}, servers});
        sotto::write_report(runs, s.report, {.title = "One slow worker, and ways to live with it"});
        std::printf("Who computed, waited and sent: %s\n",
                    std::filesystem::absolute(s.report).c_str());
        return 0;
    });
}
