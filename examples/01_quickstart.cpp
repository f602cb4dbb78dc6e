// Trains a digit classifier on four workers, with whole gradients and then with Deep Gradient
// Compression.

#include <sotto/models.hpp>
#include <sotto/sotto.hpp>
#include <sotto/logging/chrome_trace.hpp>
#include <sotto/logging/json_lines.hpp>
#include <sotto/logging/read_json_lines.hpp>
#include <sotto/report/report.hpp>

#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <string>
#include <vector>

#include "digest.hpp"
#include "transport.hpp"

namespace {

struct settings {
    examples::transport_options transport;
    std::string report = "sotto_report.html";
    std::string trace;  // file name; empty: no trace
    bool quick = false;
};

/// Results of one run on one rank.
struct outcome {
    sotto::fit_report whole;
    sotto::round_report last_epoch;
    std::string digest;  // digest of the parameters
};

/// Trains one worker's replica with the strategy.
outcome train(auto& transport, const char* log, const std::string& trace, auto strategy,
              const sotto::data::labelled_set& digits, const sotto::data::labelled_set& unseen,
              std::int64_t passes) {
    outcome seen;
    sotto::models::mlp model{784, 512, 10};
    sotto::trainer trainer{model, strategy, transport};
    const auto keep_last = [&](const sotto::epoch_report& epoch) { seen.last_epoch = epoch.total; };
    const auto fit = [&](auto&&... more) {
        return examples::noted(trainer.fit(digits, sotto::epochs{passes},
                                           sotto::evaluate_on{unseen}, sotto::progress_bar{},
                                           sotto::json_lines{log}, keep_last, more...));
    };
    seen.whole = trace.empty() ? fit() : fit(sotto::chrome_trace{trace});
    seen.digest = examples::digest_of(trainer.parameters());
    return seen;
}

double megabytes(std::int64_t bytes) {
    return static_cast<double>(bytes) / (1 << 20);
}

void print(const char* name, const outcome& seen, std::int64_t steps) {
    std::printf("%-26s %8.2f %% %14.2f MiB %12.3f KiB\n", name,
                100.0 * seen.whole.evaluated->accuracy, megabytes(seen.whole.total.bytes_sent),
                1024.0 * megabytes(seen.last_epoch.bytes_sent) / static_cast<double>(steps));
}

/// Writes a report that compares both runs, from their logs.
void write_report(const std::string& path, int workers) {
    std::vector<sotto::run_log> runs{sotto::read_json_lines("quickstart_dense.jsonl"),
                                     sotto::read_json_lines("quickstart_dgc.jsonl")};
    runs[0].name = "whole gradients";
    runs[1].name = "Deep Gradient Compression";
    sotto::write_report(
        runs, path,
        {.title = "Quickstart: " + std::to_string(workers) + " workers learn to read digits"});
    std::printf("Look at what was learnt and what it cost: %s\n",
                std::filesystem::absolute(path).c_str());
}

/// Prints the final table, on rank 0.
void compare(const outcome& dense, const outcome& compressed, int workers, std::int64_t steps) {
    const std::string each = "each of " + std::to_string(workers) + " workers";
    std::printf("\n%-26s %10s %18s %16s\n", each.c_str(), "accuracy", "sent in all", "sent a step");
    print("whole gradients", dense, steps);
    print("Deep Gradient Compression", compressed, steps);
    if (workers > 1)
        std::printf("%-26s %10s %13.0f times %9.0f times\n", "fewer bytes", "",
                    static_cast<double>(dense.whole.total.bytes_sent) /
                        static_cast<double>(compressed.whole.total.bytes_sent),
                    static_cast<double>(dense.last_epoch.bytes_sent) /
                        static_cast<double>(compressed.last_epoch.bytes_sent));
    std::printf("\ndigests of the parameters, the same over every transport: %s %s\n",
                dense.digest.c_str(), compressed.digest.c_str());
    std::puts(
        "Every step is in quickstart_dense.jsonl and quickstart_dgc.jsonl, one JSON object a "
        "line.");
}

int learn(const settings& s) {
    const std::int64_t passes = s.quick ? 2 : 10;
    const auto digits = sotto::data::digits(s.quick ? 2'000 : 10'000, sotto::random_stream{1});
    const auto unseen = sotto::data::digits(2'000, sotto::random_stream{2});

    bool learnt = true;
    examples::with_transport(s.transport, [&](auto& transport) {
        const bool speaks = transport.rank() == 0;
        if (speaks) std::puts("Whole gradients, momentum SGD");
        const outcome dense = train(transport, "quickstart_dense.jsonl", "",
                                    sotto::all_reduce{sotto::momentum_sgd{.learning_rate = 0.1}},
                                    digits, unseen, passes);

        if (speaks)
            std::puts(
                "Deep Gradient Compression: after a short warm-up one entry in a thousand "
                "is sent");
        const outcome compressed =
            train(transport, "quickstart_dgc.jsonl", s.trace,
                  sotto::all_reduce{sotto::sgd{.learning_rate = 0.1},
                                    sotto::dgc{.density = 0.001,
                                               .momentum = 0.9,
                                               .mask_from_sparsity = 0.99,
                                               .warm_up_epochs = 1,
                                               .values = sotto::wire::value_format::fp16}},
                  digits, unseen, passes);

        if (!speaks) return;
        compare(dense, compressed, transport.size(), dense.whole.steps / passes);
        write_report(s.report, transport.size());
        learnt =
            dense.whole.evaluated->accuracy > 0.3 && compressed.whole.evaluated->accuracy > 0.3;
    });
    return learnt ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
    settings s;
    CLI::App app{"Four workers learn to read digits, with whole gradients and with few",
                 "quickstart"};
    examples::add_transport(app, s.transport);
    app.add_option("--report", s.report, "The HTML file to write")->capture_default_str();
    app.add_option("--trace", s.trace,
                   "A file for ten steps of Deep Gradient Compression, to be opened in "
                   "ui.perfetto.dev or chrome://tracing");
    app.add_flag("--quick", s.quick, "The same in seconds");
    return examples::run(app, argc, argv, [&] {
        examples::require_writable({{"--report", s.report, true},
                                    {"--trace", s.trace},
                                    {"the log", "quickstart_dense.jsonl"},
                                    {"the log", "quickstart_dgc.jsonl"}});
        return learn(s);
    });
}
