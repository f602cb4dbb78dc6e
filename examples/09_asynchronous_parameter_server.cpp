// Workers that never wait for each other: a server holds the parameters, each worker pushes its
// gradient when it has one and reads what the parameters are by then. What came late is corrected
// by how far the parameters have moved meanwhile (DC-ASGD).

#include <sotto/sotto.hpp>
#include <sotto/trainer/chrome_trace.hpp>
#include <sotto/trainer/joined_ranks.hpp>
#include <sotto/trainer/json_lines.hpp>
#include <sotto/trainer/report.hpp>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <string>

#include "transport.hpp"

namespace {

struct settings {
    std::string consistency = "asynchronous", compensator = "adaptive";
    std::string log = "asynchronous_parameter_server.jsonl", checkpoints;
    std::string report = "asynchronous_parameter_server.html", trace;
    double rate = 0.1, lambda = 2.0;
    std::int64_t passes = 5;
    int bound = 3;
    sotto::serving servers{.dedicated = true};
    sotto::training_options training{};
    examples::transport_options transport{};
    bool quick = false;
};

void train(const settings& s, auto consistency, auto compensator) {
    using namespace sotto;
    const auto digits = data::digits(s.quick ? 2'000 : 10'000, random_stream{1});
    const auto unseen = data::digits(2'000, random_stream{2});
    const parameter_server strategy{sgd{.learning_rate = s.rate}, consistency, compensator, none{},
                                    s.servers};
    examples::with_transport(s.transport, [&](auto& transport) {
        models::mlp model{784, 256, 10};
        trainer trainer{model, strategy, transport, s.training};
        const auto began = transport.now();
        const auto fit = [&](auto&&... more) {
            return trainer.fit(digits, epochs{s.passes}, progress_bar{},
                               json_lines{s.log, {.every_rank = true}}, more...);
        };
        s.trace.empty() ? fit() : fit(chrome_trace{s.trace});
        transport.agree(true);  // all ranks have written their logs
        if (transport.rank() != 0) return;
        const evaluation found = trainer.evaluate(unseen);
        std::printf("accuracy %.2f %% after %llu steps of the server, %.2f s\n",
                    100.0 * found.accuracy,
                    static_cast<unsigned long long>(trainer.state().server()->version()),
                    in_seconds(transport.now() - began));
        write_report(read_json_lines_of_ranks(s.log), s.report,
                     {.title = "A parameter server and its workers"});
        std::printf("Who computed, waited and sent, and how late gradients came: %s\n",
                    std::filesystem::absolute(s.report).c_str());
    });
}

void with_compensator(const settings& s, auto consistency) {
    if (s.compensator == "none") return train(s, consistency, sotto::no_compensation{});
    train(s, consistency, sotto::delay_compensation_adaptive{.lambda = s.lambda});
}

}  // namespace

int main(int argc, char** argv) {
    settings s;
    std::string record, replay;
    CLI::App app{"Trains by a parameter server", "asynchronous_parameter_server"};
    app.option_defaults()->always_capture_default();
    app.add_option("--consistency", s.consistency, "How far ranks may be apart")
        ->check(CLI::IsMember({"asynchronous", "stale", "bulk"}));
    app.add_option("--compensator", s.compensator, "What is done about late gradients")
        ->check(CLI::IsMember({"none", "adaptive"}));
    app.add_option("--lambda", s.lambda, "Of the compensator");
    app.add_option("--bound", s.bound, "stale: rounds that a worker may be ahead");
    app.add_option("--servers", s.servers.servers, "Ranks that serve");
    app.add_flag(
        "--servers-work", [&](std::int64_t) { s.servers.dedicated = false; },
        "Those that serve also work");
    app.add_option("--checkpoints", s.checkpoints, "Folder in which servers save what they hold");
    app.add_option("--learning-rate", s.rate, "Of a step of the server");
    app.add_option("--batch-size", s.training.batch_size, "Of one worker");
    app.add_option("--seed", s.training.seed, "Of starting values and the order of data");
    app.add_option("--epochs", s.passes, "Passes over the data")->check(examples::at_least_one);
    app.add_option("--log", s.log, "JSON lines, a file for each rank");
    app.add_option("--report", s.report, "The HTML file to write");
    app.add_option("--trace", s.trace, "A file for ten steps, to be opened in ui.perfetto.dev");
    app.add_option("--record", record, "A file for the order in which gradients came");
    app.add_option("--replay", replay, "One whose order is followed: it all repeats, bit for bit");
    app.add_flag("--quick", s.quick, "A few seconds: fewer digits, at most 2 epochs");
    examples::add_transport(app, s.transport);
    return examples::run(app, argc, argv, [&] {
        if (s.quick) s.passes = std::min<std::int64_t>(s.passes, 2);
        s.servers.checkpoints = s.checkpoints;
        s.servers.record_arrivals = record;
        s.servers.replay_arrivals = replay;
        s.transport.seed = s.training.seed;
        if (s.consistency == "asynchronous")
            with_compensator(s, sotto::asynchronous{});
        else if (s.consistency == "stale")
            with_compensator(s, sotto::stale_synchronous{.bound = s.bound});
        else
            with_compensator(s, sotto::bulk_synchronous{});
        return 0;
    });
}
