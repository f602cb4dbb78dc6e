// Four workers learn to read digits, sending whole gradients and then by Deep Gradient Compression.

#include <sotto/sotto.hpp>
#include <sotto/trainer/json_lines.hpp>
#include <sotto/trainer/read_json_lines.hpp>
#include <sotto/trainer/report.hpp>

#include <cstdio>
#include <filesystem>
#include <string_view>
#include <vector>

namespace {

struct outcome {
    sotto::fit_report whole;
    sotto::round_report last_epoch;
};

/// Trains on four workers by one strategy; what rank 0 saw.
outcome train(const char* log, auto strategy, const sotto::data::labelled_set& digits,
              const sotto::data::labelled_set& unseen, std::int64_t passes) {
    outcome seen;
    sotto::run_in_process(4, [&](auto& transport) {
        sotto::models::mlp model{784, 512, 10};
        sotto::trainer trainer{model, strategy, transport};
        const auto keep_last = [&](const sotto::epoch_report& epoch) {
            if (transport.rank() == 0) seen.last_epoch = epoch.total;
        };
        const auto whole = trainer.fit(digits, sotto::epochs{passes}, sotto::evaluate_on{unseen},
                                       sotto::progress_bar{}, sotto::json_lines{log}, keep_last);
        if (transport.rank() == 0) seen.whole = whole;
    });
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

/// Both runs beside each other, from their logs.
void write_report(const char* path) {
    std::vector<sotto::run_log> runs{sotto::read_json_lines("quickstart_dense.jsonl"),
                                     sotto::read_json_lines("quickstart_dgc.jsonl")};
    runs[0].name = "whole gradients";
    runs[1].name = "Deep Gradient Compression";
    sotto::write_report(runs, path, {.title = "Quickstart: four workers learn to read digits"});
    std::printf("Look at what was learnt and what it cost: %s\n",
                std::filesystem::absolute(path).c_str());
}

}  // namespace

int main(int argc, char** argv) {
    bool quick = false;
    const char* report = "sotto_report.html";
    for (int i = 1; i < argc; ++i) {
        if (std::string_view(argv[i]) == "--quick") {
            quick = true;
        } else if (std::string_view(argv[i]) == "--report" && i + 1 < argc) {
            report = argv[++i];
        } else {
            std::fprintf(stderr, "usage: quickstart [--quick] [--report PATH]\n");
            return 2;
        }
    }
    const std::int64_t passes = quick ? 2 : 10;
    const auto digits = sotto::data::digits(quick ? 2'000 : 10'000, sotto::random_stream{1});
    const auto unseen = sotto::data::digits(2'000, sotto::random_stream{2});

    std::setvbuf(stdout, nullptr, _IOLBF, 0);  // in step with the progress bar's stderr
    std::puts("Whole gradients, momentum SGD");
    const outcome dense =
        train("quickstart_dense.jsonl",
              sotto::all_reduce{sotto::momentum_sgd{.learning_rate = 0.1}}, digits, unseen, passes);

    std::puts("Deep Gradient Compression: after a short warm-up one entry in a thousand is sent");
    const outcome compressed =
        train("quickstart_dgc.jsonl",
              sotto::all_reduce{sotto::sgd{.learning_rate = 0.1},
                                sotto::dgc{.density = 0.001,
                                           .momentum = 0.9,
                                           .mask_from_sparsity = 0.99,
                                           .warm_up_epochs = 1,
                                           .values = sotto::wire::value_format::fp16}},
              digits, unseen, passes);

    const std::int64_t steps = dense.whole.steps / passes;
    std::printf("\n%-26s %10s %18s %16s\n", "each of four workers", "accuracy", "sent in all",
                "sent a step");
    print("whole gradients", dense, steps);
    print("Deep Gradient Compression", compressed, steps);
    std::printf("%-26s %10s %13.0f times %9.0f times\n", "fewer bytes", "",
                static_cast<double>(dense.whole.total.bytes_sent) /
                    static_cast<double>(compressed.whole.total.bytes_sent),
                static_cast<double>(dense.last_epoch.bytes_sent) /
                    static_cast<double>(compressed.last_epoch.bytes_sent));
    std::puts(
        "\nEvery step is in quickstart_dense.jsonl and quickstart_dgc.jsonl, one JSON object a "
        "line.");
    write_report(report);
    return dense.whole.evaluated->accuracy > 0.3 && compressed.whole.evaluated->accuracy > 0.3 ? 0
                                                                                               : 1;
}
