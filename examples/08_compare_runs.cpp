// Several runs' logs side by side in one HTML report: what was learnt, what it cost, does it pay.

#include <sotto/sotto.hpp>
#include <sotto/trainer/json_lines.hpp>
#include <sotto/trainer/read_json_lines.hpp>
#include <sotto/trainer/report.hpp>
#include <sotto/trainer/report_calibration.hpp>

#include <CLI/CLI.hpp>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <exception>
#include <filesystem>
#include <string>
#include <vector>

namespace {

struct settings {
    std::vector<std::filesystem::path> logs;
    std::string report = "compare_runs.html";
    double megabits = 100.0, latency_ms = 1.0;
    bool quick = false;
};

/// Four workers train by one strategy; what rank 0 saw is in the log.
void train(const std::string& log, auto strategy, const settings& chosen) {
    const auto digits = sotto::data::digits(chosen.quick ? 1'000 : 6'000, sotto::random_stream{1});
    const auto unseen = sotto::data::digits(1'000, sotto::random_stream{2});
    sotto::run_in_process(4, [&](auto& transport) {
        sotto::models::mlp model{784, 128, 10};
        sotto::trainer trainer{model, strategy, transport};
        trainer.fit(digits, sotto::epochs{chosen.quick ? 2 : 10}, sotto::evaluate_on{unseen},
                    sotto::json_lines{log});
    });
    std::printf("trained, see %s\n", log.c_str());
}

/// Three short runs, for whoever has no logs yet.
std::vector<std::filesystem::path> make_logs(const settings& chosen) {
    train("whole_gradients.jsonl", sotto::all_reduce{sotto::momentum_sgd{.learning_rate = 0.1}},
          chosen);
    train("gradient_dropping.jsonl",
          sotto::all_reduce{sotto::sgd{.learning_rate = 1.0},
                            sotto::sparsified{sotto::top_k{.density = 0.01}, sotto::residual{}}},
          chosen);
    train("dgc.jsonl",
          sotto::all_reduce{sotto::sgd{.learning_rate = 0.1},
                            sotto::dgc{.density = 0.01,
                                       .mask_from_sparsity = 0.98,
                                       .warm_up_epochs = 1,
                                       .values = sotto::wire::value_format::fp16}},
          chosen);
    return {"whole_gradients.jsonl", "gradient_dropping.jsonl", "dgc.jsonl"};
}

/// How good a model was when it was last looked at: by its accuracy, if it has labels.
std::string quality(const sotto::run_log& run) {
    const sotto::run_epoch* tested = run.last_evaluated();
    if (!tested) return "not evaluated";
    const bool labels = std::isfinite(tested->evaluated->accuracy);
    char text[40];
    std::snprintf(text, sizeof text, labels ? "%.2f %%" : "test loss %.4f",
                  labels ? 100.0 * tested->evaluated->accuracy : tested->evaluated->loss);
    return text;
}

int compare(const settings& chosen) {
    const std::vector<std::filesystem::path> logs =
        chosen.logs.empty() ? make_logs(chosen) : chosen.logs;
    const std::vector<sotto::run_log> runs = sotto::read_json_lines(logs);
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
        "Draws runs beside each other in one HTML file. Without logs it makes three short runs."};
    app.add_option("logs", chosen.logs, "JSON-lines files that sotto::json_lines wrote");
    app.add_option("--report", chosen.report, "the HTML file to write")->capture_default_str();
    app.add_option("--megabits", chosen.megabits, "bandwidth of the network, in Mbit/s")
        ->capture_default_str();
    app.add_option("--latency", chosen.latency_ms, "of a message, one way, in ms")
        ->capture_default_str();
    app.add_flag("--quick", chosen.quick, "runs of a second");
    CLI11_PARSE(app, argc, argv);
    try {
        return compare(chosen);
    } catch (const std::exception& e) {
        std::fprintf(stderr, "compare_runs: %s\n", e.what());
        return 1;
    }
}
