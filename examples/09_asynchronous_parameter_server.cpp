// Trains with an asynchronous parameter server, so that workers never wait for each other. A server
// stores the parameters. Each worker pushes its gradient and reads the current parameters. The
// server corrects a late gradient by how far the parameters have moved since the worker read them
// (DC-ASGD).

#include <sotto/models.hpp>
#include <sotto/sotto.hpp>
#include <sotto/strategies/parameter_server/arrival_paths.hpp>
#include <sotto/logging/chrome_trace.hpp>
#include <sotto/logging/merge_rank_logs.hpp>
#include <sotto/logging/json_lines.hpp>
#include <sotto/report/report.hpp>
#include <sotto/logging/server_summary.hpp>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <exception>
#include <filesystem>
#include <initializer_list>
#include <optional>
#include <string>
#include <type_traits>

#include "transport.hpp"

namespace {

constexpr int tensors = 4;  // in the model: weights and biases of two layers

struct settings {
    std::string consistency = "asynchronous", compensator = "adaptive", compressor = "none";
    std::string log = "asynchronous_parameter_server.jsonl", checkpoints;
    std::string report = "asynchronous_parameter_server.html", trace;
    std::string record, replay;
    double rate = 0.1, lambda = 2.0, density = 0.05;
    std::int64_t passes = 5;
    int bound = 3, backups = 0;
    sotto::serving servers{.dedicated = true};
    sotto::training_options training{};
    examples::transport_options transport{};
    bool quick = false;
};

/// Prints what a server received and saved. For rank 0 the progress bar prints it, unless the run
/// failed.
void tell_of_server(const std::optional<sotto::server_report>& server, bool failed,
                    const char* beside_times) {
    if (!server) return;
    if (failed || server->rank > 0)
        std::fputs(sotto::summary_of(*server, beside_times).c_str(), stdout);
    if (!server->saves)
        std::printf(
            "the server on rank %d saved nothing of the model; --checkpoints FOLDER has servers "
            "save\n",
            server->rank);
}

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
            return examples::noted(trainer.fit(digits, epochs{s.passes}, progress_bar{},
                                               json_lines{s.log, {.every_rank = true}}, more...));
        };
        const bool simulated = !transport.simulated_network().empty();
        const auto tell = [&](bool failed) {
            tell_of_server(trainer.state().report_of_server(), failed,
                           simulated ? " (simulated)" : "");
        };
        try {
            s.trace.empty() ? fit() : fit(chrome_trace{s.trace});
        } catch (const std::exception&) {
            tell(true);
            throw;
        }
        tell(false);
        if (!s.servers.survives) transport.agree(true);  // waits until all logs are written
        if (transport.rank() != 0) return;
        const evaluation found = trainer.evaluate(unseen);
        std::printf("accuracy %.2f %% after %llu steps of the server, %.2f %s\n",
                    100.0 * found.accuracy,
                    static_cast<unsigned long long>(trainer.state().server()->version()),
                    in_seconds(transport.now() - began), simulated ? "simulated s" : "s");
        sotto::write_report(read_json_lines_of_ranks(s.log), s.report,
                            {.title = "A parameter server and its workers"});
        std::printf("Who computed, waited and sent, and how late gradients came: %s\n",
                    std::filesystem::absolute(s.report).c_str());
    });
}

/// Trains with the selected compensator. Each combination is a separate instantiation, so only some
/// are compiled. Throws invalid_option for the others.
void with_compensator(const settings& s, auto consistency) {
    using namespace sotto;
    if (s.compressor == "dgc")
        return train(s, consistency, no_compensation{}, dgc{.density = s.density});
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
    throw invalid_option("--compensator " + s.compensator + " with --consistency " + s.consistency);
}

/// Refuses flags that contradict each other or have no effect.
void require_sensible(const CLI::App& app, const settings& s) {
    using examples::require_effect, examples::refuse;
    const auto has = [&](const std::string& value, std::initializer_list<const char*> those) {
        return std::find(those.begin(), those.end(), value) != those.end();
    };
    require_effect(app, "--bound", has(s.consistency, {"stale", "dynamic"}),
                   "--consistency stale and dynamic");
    require_effect(app, "--backups", s.consistency == "bulk", "--consistency bulk");
    require_effect(app, "--density", s.compressor == "dgc", "--compressor dgc");
    if (s.compressor == "dgc" && s.compensator != "none")
        refuse("--compensator", s.compensator, "none goes with --compressor dgc in this example");
    if (s.consistency != "asynchronous" && !has(s.compensator, {"none", "adaptive"}))
        refuse("--compensator", s.compensator,
               "none and adaptive go with --consistency " + s.consistency +
                   " in this example; the others with asynchronous");
    require_effect(app, "--lambda", has(s.compensator, {"adaptive", "constant"}),
                   "--compensator adaptive and constant");
    require_effect(app, "--every", !s.checkpoints.empty(), "--checkpoints FOLDER");
    require_effect(app, "--patience", s.servers.survives, "--survives");
    require_effect(app, "--survives",
                   s.transport.kind == examples::transport_kind::tcp ||
                       s.transport.kind == examples::transport_kind::simulated,
                   "--transport tcp and simulated: on others the loss of a rank ends the job");

    const int servers = s.servers.servers, ranks = examples::ranks_of(s.transport);
    const int workers = s.servers.dedicated ? ranks - servers : ranks;
    if (ranks > 0 && (servers > ranks || workers < 1))
        refuse("--servers", std::to_string(servers),
               "of " + std::to_string(ranks) + " ranks at most " +
                   (s.servers.dedicated ? std::to_string(ranks - 1) +
                                              " can serve, unless they work too (--servers-work)"
                                        : "all can serve"));
    if (servers > tensors)
        refuse("--servers", std::to_string(servers),
               "the model has " + std::to_string(tensors) +
                   " tensors, of which each server needs one at least");
    if (ranks > 0 && s.backups >= workers)
        refuse("--backups", std::to_string(s.backups),
               "a round needs a gradient of at least one of the " + std::to_string(workers) +
                   " workers: 0 to " + std::to_string(workers - 1) + " were expected");
    if (s.backups > 0 && servers > 1)
        refuse("--backups", std::to_string(s.backups),
               "each of " + std::to_string(servers) +
                   " servers would drop the gradients of others; --servers 1 was expected");
    if (const auto shared = sotto::shared_arrivals(s.record, s.replay, servers))
        refuse("--record", s.record,
               "--replay is '" + s.replay + "', and both are of '" + *shared +
                   "', which would be emptied before it is read; another file was expected");
    // Only files of ranks in this process must be on this machine.
    const auto is_here = [&](int rank) { return examples::has_rank(s.transport, rank); };
    for (int server = 0; server < servers && !s.replay.empty(); ++server)
        if (is_here(server))
            examples::require_readable("--replay", sotto::arrivals_path(s.replay, server));
    examples::require_folder("--checkpoints", s.checkpoints);
    examples::require_writable({{"--log", s.log},
                                {"--report", is_here(0) ? s.report : "", true},
                                {"--trace", s.trace},
                                {"--record", s.record}});
}

}  // namespace

int main(int argc, char** argv) {
    settings s;
    CLI::App app{"Trains by a parameter server", "asynchronous_parameter_server"};
    app.option_defaults()->always_capture_default();
    app.add_option("--consistency", s.consistency, "How far ranks may be apart")
        ->check(CLI::IsMember({"asynchronous", "stale", "dynamic", "bulk"}));
    CLI::Option* const compensator =
        app.add_option("--compensator", s.compensator, "What is done about late gradients")
            ->check(CLI::IsMember(
                {"none", "adaptive", "constant", "inverse", "ada-delay", "gap-aware"}));
    app.add_option("--lambda", s.lambda, "Of the compensators adaptive and constant")
        ->check(examples::number_from(0.0, 1e6));
    app.add_option("--compressor", s.compressor, "How gradients are sent; dgc without compensator")
        ->check(CLI::IsMember({"none", "dgc"}));
    app.add_option("--density", s.density, "dgc: the share of a gradient that is sent")
        ->check(examples::number_above(0.0, 1.0));
    app.add_option("--bound", s.bound, "stale, dynamic: rounds that a worker may be ahead, at most")
        ->check(examples::number_from(0, 1e6));
    app.add_option("--backups", s.backups, "bulk: workers that a round does not wait for")
        ->check(examples::number_from(0, 1e6));
    app.add_flag("--survives", s.servers.survives,
                 "Workers and servers may die and come again, where the transport can");
    app.add_option("--patience", s.servers.patience,
                   "survives: seconds until a silent server, or the last worker, is given up")
        ->check(examples::number_from(0.0, 1e9));
    app.add_option("--servers", s.servers.servers, "Ranks that serve, each a range of the tensors")
        ->check(examples::number_from(1, 1e6));
    app.add_flag(
        "--servers-work", [&](std::int64_t) { s.servers.dedicated = false; },
        "Those that serve also work");
    app.add_option("--checkpoints", s.checkpoints, "Folder in which servers save what they hold");
    app.add_option("--every", s.servers.every, "Steps of a server from one save to the next")
        ->check(examples::at_least_one);
    app.add_option("--learning-rate", s.rate, "Of a step of the server")
        ->check(examples::number_above(0.0, 1e6));
    app.add_option("--batch-size", s.training.batch_size, "Of one worker")
        ->check(examples::number_from(1, 1e6));
    app.add_option("--seed", s.training.seed, "Of starting values and the order of data")
        ->check(examples::whole_number);
    app.add_option("--epochs", s.passes, "Epochs: passes of each worker over its share of the data")
        ->check(examples::at_least_one);
    app.add_option("--log", s.log, "JSON lines, a file for each rank");
    app.add_option("--report", s.report, "The HTML file to write");
    app.add_option("--trace", s.trace, "A file for ten steps, to be opened in ui.perfetto.dev");
    app.add_option("--record", s.record, "A file for the order in which gradients came");
    app.add_option("--replay", s.replay,
                   "One whose order is followed: it all repeats, bit for bit");
    app.add_flag("--quick", s.quick, "A few seconds: fewer digits, at most 2 epochs");
    examples::add_transport(app, s.transport);
    return examples::run(app, argc, argv, [&] {
        if (s.quick) s.passes = std::min<std::int64_t>(s.passes, 2);
        if (s.compressor == "dgc" && compensator->count() == 0) s.compensator = "none";
        require_sensible(app, s);
        s.servers.checkpoints = s.checkpoints;
        s.servers.record_arrivals = s.record;
        s.servers.replay_arrivals = s.replay;
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
