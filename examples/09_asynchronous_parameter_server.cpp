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
#include <type_traits>

#include "transport.hpp"

namespace {

struct settings {
    std::string consistency = "asynchronous", compensator = "adaptive", compressor = "none";
    std::string log = "asynchronous_parameter_server.jsonl", checkpoints;
    std::string report = "asynchronous_parameter_server.html", trace;
    double rate = 0.1, lambda = 2.0, density = 0.05;
    std::int64_t passes = 5;
    int bound = 3, backups = 0;
    sotto::serving servers{.dedicated = true};
    sotto::training_options training{};
    examples::transport_options transport{};
    bool quick = false;
};

void train(const settings& s, auto consistency, auto compensator, auto compressor) {
    using namespace sotto;
    const auto digits = data::digits(s.quick ? 2'000 : 10'000, random_stream{1});
    const auto unseen = data::digits(2'000, random_stream{2});
    const parameter_server strategy{sgd{.learning_rate = s.rate}, consistency, compensator,
                                    compressor, s.servers};
    examples::with_transport(s.transport, [&](auto& transport) {
        models::mlp model{784, 256, 10};
        trainer trainer{model, strategy, transport, s.training};
        const auto began = transport.now();
        const auto fit = [&](auto&&... more) {
            return trainer.fit(digits, epochs{s.passes}, progress_bar{},
                               json_lines{s.log, {.every_rank = true}}, more...);
        };
        s.trace.empty() ? fit() : fit(chrome_trace{s.trace});
        if (!s.servers.survives) transport.agree(true);  // all ranks have written their logs
        if (transport.rank() != 0) return;
        const evaluation found = trainer.evaluate(unseen);
        const auto version = trainer.state().server()->version();
        std::printf("accuracy %.2f %% after %llu steps of the server, %.2f s\n",
                    100.0 * found.accuracy, static_cast<unsigned long long>(version),
                    in_seconds(transport.now() - began));
        write_report(read_json_lines_of_ranks(s.log), s.report,
                     {.title = "A parameter server and its workers"});
        std::printf("Who computed, waited and sent, and how late gradients came: %s\n",
                    std::filesystem::absolute(s.report).c_str());
        if (s.servers.checkpoints.empty())
            std::puts("Nothing of the model was saved: --checkpoints FOLDER has the servers save");
        else if (version < static_cast<std::uint64_t>(s.servers.every))
            std::printf("Nothing of the model was saved: that is due every %lld steps (--every)\n",
                        static_cast<long long>(s.servers.every));
        else
            std::printf("Servers saved what they hold every %lld of their steps in %s\n",
                        static_cast<long long>(s.servers.every),
                        std::filesystem::absolute(s.servers.checkpoints).c_str());
    });
}

/// Each pair is a program of its own: not all are compiled, what is not is refused.
void with_compensator(const settings& s, auto consistency) {
    using namespace sotto;
    if (s.compressor == "dgc") {
        if (s.compensator != "none")
            throw invalid_option("--compressor dgc goes with --compensator none in this example");
        return train(s, consistency, no_compensation{}, dgc{.density = s.density});
    }
    if (s.compensator == "none") return train(s, consistency, no_compensation{}, none{});
    if (s.compensator == "adaptive")
        return train(s, consistency, delay_compensation_adaptive{.lambda = s.lambda}, none{});
    if constexpr (std::is_same_v<decltype(consistency), asynchronous>) {
        if (s.compensator == "constant")
            return train(s, consistency, delay_compensation{.lambda = s.lambda}, none{});
        if (s.compensator == "inverse") return train(s, consistency, inverse_staleness{}, none{});
        if (s.compensator == "ada-delay") return train(s, consistency, ada_delay{}, none{});
        return train(s, consistency, gap_aware{}, none{});
    }
    throw invalid_option("--compensator " + s.compensator +
                         " goes with --consistency asynchronous in this example");
}

}  // namespace

int main(int argc, char** argv) {
    settings s;
    std::string record, replay;
    CLI::App app{"Trains by a parameter server", "asynchronous_parameter_server"};
    app.option_defaults()->always_capture_default();
    app.add_option("--consistency", s.consistency, "How far ranks may be apart")
        ->check(CLI::IsMember({"asynchronous", "stale", "dynamic", "bulk"}));
    CLI::Option* const compensator =
        app.add_option("--compensator", s.compensator, "What is done about late gradients")
            ->check(CLI::IsMember(
                {"none", "adaptive", "constant", "inverse", "ada-delay", "gap-aware"}));
    app.add_option("--lambda", s.lambda, "Of the compensators adaptive and constant");
    app.add_option("--compressor", s.compressor, "How gradients are sent; dgc without compensator")
        ->check(CLI::IsMember({"none", "dgc"}));
    app.add_option("--density", s.density, "dgc: the share of a gradient that is sent");
    app.add_option("--bound", s.bound,
                   "stale, dynamic: rounds that a worker may be ahead, at most");
    app.add_option("--backups", s.backups, "bulk: workers that a round does not wait for");
    app.add_flag("--survives", s.servers.survives,
                 "Workers and servers may die and come again, where the transport can");
    app.add_option("--servers", s.servers.servers, "Ranks that serve");
    app.add_flag(
        "--servers-work", [&](std::int64_t) { s.servers.dedicated = false; },
        "Those that serve also work");
    app.add_option("--checkpoints", s.checkpoints, "Folder in which servers save what they hold");
    app.add_option("--every", s.servers.every, "Steps of a server from one save to the next");
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
        if (s.compressor == "dgc" && compensator->count() == 0) s.compensator = "none";
        s.servers.checkpoints = s.checkpoints;
        s.servers.record_arrivals = record;
        s.servers.replay_arrivals = replay;
        s.transport.seed = s.training.seed;
        s.transport.elastic = s.servers.survives;
        if (s.consistency == "asynchronous")
            with_compensator(s, sotto::asynchronous{});
        else if (s.consistency == "stale")
            with_compensator(s, sotto::stale_synchronous{.bound = s.bound});
        else if (s.consistency == "dynamic")
            with_compensator(s, sotto::dynamic_stale_synchronous{.lowest = std::min(2, s.bound),
                                                                 .highest = s.bound});
        else
            with_compensator(s, sotto::bulk_synchronous{.backups = s.backups});
        return 0;
    });
}
