// Compares the logs of several runs in one HTML report: what each run learned, what it cost and
// whether it pays.

#include <sotto/models.hpp>
#include <sotto/sotto.hpp>
#include <sotto/logging/chrome_trace.hpp>
#include <sotto/logging/json_lines.hpp>
#include <sotto/logging/read_json_lines.hpp>
#include <sotto/report/report.hpp>
#include <sotto/report/calibrated_advice.hpp>

#include <CLI/CLI.hpp>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <string>
#include <vector>

#include "transport.hpp"

namespace {

struct settings {
    std::vector<std::string> logs;
    std::string report = "compare_runs.html";
    std::string trace;  // file name; empty: no trace
    double megabits = 100.0, latency_ms = 1.0;
    examples::transport_options transport{};
    bool quick = false;
};

/// Trains three short runs that write logs. Returns true in the one process that must read the
/// logs.
bool make_logs(settings& chosen) {
    using namespace sotto;
    const auto digits = data::digits(chosen.quick ? 1'000 : 6'000, random_stream{1});
    const auto unseen = data::digits(1'000, random_stream{2});
    bool reads = false;
    examples::with_transport(chosen.transport, [&](auto& transport) {
        const auto train = [&](const char* log, auto strategy, auto&&... more) {
            models::mlp model{784, 128, 10};
            trainer trainer{model, strategy, transport};
            examples::noted(trainer.fit(digits, epochs{chosen.quick ? 2 : 10}, evaluate_on{unseen},
                                        json_lines{log}, more...));
            if (transport.rank() == 0) std::printf("trained, see %s\n", log);
        };
        train("whole_gradients.jsonl", all_reduce{momentum_sgd{.learning_rate = 0.1}});
        train(
            "gradient_dropping.jsonl",
            all_reduce{sgd{.learning_rate = 1.0}, sparsified{top_k{.density = 0.01}, residual{}}});
        const all_reduce last{sgd{.learning_rate = 0.1}, dgc{.density = 0.01,
                                                             .mask_from_sparsity = 0.98,
                                                             .warm_up_epochs = 1,
                                                             .values = wire::value_format::fp16}};
        if (chosen.trace.empty())
            train("dgc.jsonl", last);
        else
            train("dgc.jsonl", last, chrome_trace{chosen.trace});
        if (transport.rank() == 0) reads = true;
    });
    chosen.logs = {"whole_gradients.jsonl", "gradient_dropping.jsonl", "dgc.jsonl"};
    return reads;
}

/// Returns the last evaluation as text: the accuracy, or the test loss if the data have no labels.
std::string quality(const sotto::run_log& run) {
    const sotto::run_log::finished_epoch* tested = run.last_evaluated();
    if (!tested) return "not evaluated";
    const bool labels = std::isfinite(tested->evaluated->accuracy);
    char text[40];
    std::snprintf(text, sizeof text, labels ? "%.2f %%" : "test loss %.4f",
                  labels ? 100.0 * tested->evaluated->accuracy : tested->evaluated->loss);
    return text;
}

int compare(settings& chosen) {
    if (chosen.logs.empty() && !make_logs(chosen)) return 0;
    const std::vector<sotto::run_log> runs = sotto::read_json_lines(chosen.logs);
    for (const sotto::run_log& run : runs)
        std::printf("%-28s %6lld steps %10.2f s %12.2f MiB sent   %s\n", run.name.c_str(),
                    static_cast<long long>(run.steps), run.seconds,
                    run.total.bytes_sent / (1 << 20), quality(run).c_str());
    const sotto::network_link link{.bytes_per_second = 1e6 / 8.0 * chosen.megabits,
                                   .latency_seconds = 1e-3 * chosen.latency_ms};
    sotto::report_options options{.title = "Runs compared", .link = link};
    options.advised = sotto::calibrated_advice(runs, link);
    if (options.advised)
        std::printf("%g Mbit/s, %g ms: %s\n", chosen.megabits, chosen.latency_ms,
                    options.advised->sentence.c_str());
    sotto::write_report(runs, chosen.report, options);
    std::printf("The report is %s\n", std::filesystem::absolute(chosen.report).c_str());
    return 0;
}

}  // namespace

int main(int argc, char** argv) {
    settings chosen;
    CLI::App app{
        "Draws runs beside each other in one HTML file. Without logs it makes three short runs.",
        "compare_runs"};
    app.add_option("logs", chosen.logs, "JSON-lines files that sotto::json_lines wrote");
    app.add_option("--report", chosen.report, "the HTML file to write")->capture_default_str();
    app.add_option("--trace", chosen.trace,
                   "a file for ten steps of the last run that it makes, to be opened in "
                   "ui.perfetto.dev or chrome://tracing");
    app.add_option("--megabits", chosen.megabits, "bandwidth of the network, in Mbit/s")
        ->capture_default_str();
    app.add_option("--latency", chosen.latency_ms, "of a message, one way, in ms")
        ->capture_default_str();
    app.add_flag("--quick", chosen.quick, "runs of a second");
    examples::add_transport(app, chosen.transport);
    return examples::run(app, argc, argv, [&] { return compare(chosen); });
}
