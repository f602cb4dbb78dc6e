// Shows how many predictions change when a model is trained again. A retrained model is as accurate
// as before, but predicts some examples differently. Models that taught each other during training
// differ less. This program trains twice alone and twice by codistillation, each time with other
// starting values and another order of the data.

#include <sotto/models.hpp>
#include <sotto/sotto.hpp>
#include <sotto/logging/append_churn.hpp>
#include <sotto/logging/json_lines.hpp>
#include <sotto/trainer/model_path.hpp>
#include <sotto/logging/read_json_lines.hpp>
#include <sotto/report/report.hpp>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "transport.hpp"

namespace {

struct settings {
    std::int64_t steps = 1500, show = 8;
    std::string log = "prediction_churn.jsonl", report = "prediction_churn.html";
    double noise = 0.3, rate = 0.05, weight = 1.0;
    bool quick = false;
    sotto::codistillation_groups groups{.burn_in = 100, .common = 1.0};
    sotto::training_options training{.batch_size = 32};
    examples::transport_options transport{.workers = 2};
};

constexpr std::array ways{"alone", "codistilled"};

/// Returns the log of one way to train.
std::filesystem::path log_of(const settings& s, std::size_t way) {
    return sotto::path_of_model(s.log, ways[way]);
}

/// Predictions of one model for the unseen digits.
struct saying {
    std::vector<float> probabilities;  // digits x 10
    double error = 0.0;
};

saying train(const settings& s, const auto& strategy, examples::any_transport& transport,
             const sotto::data::labelled_set& digits, const sotto::data::labelled_set& unseen,
             std::uint64_t seed, const std::filesystem::path& log) {
    using namespace sotto;
    models::mlp model{784, 64, 64, 10};
    training_options options = s.training;
    options.seed = seed;
    trainer trainer{model, strategy, transport, options};
    if (log.empty())
        trainer.fit(digits, steps{s.steps});
    else
        examples::noted(trainer.fit(digits, steps{s.steps}, evaluate_on{unseen}, json_lines{log}));
    ensemble one{model, {{{trainer.parameters().begin(), trainer.parameters().end()}, {}}}};
    return {one.predict(unseen), 1.0 - one.evaluate(unseen).accuracy};
}

/// Returns the most likely digit and its probability.
std::pair<int, double> likeliest(const saying& of, std::int64_t digit) {
    const auto row = std::span(of.probabilities).subspan(static_cast<std::size_t>(digit) * 10, 10);
    const auto most = std::ranges::max_element(row);
    return {static_cast<int>(most - row.begin()), static_cast<double>(*most)};
}

void show(const settings& s, const std::array<std::array<saying, 2>, 2>& all,
          const std::array<sotto::churn, 2>& churns, const sotto::data::labelled_set& unseen) {
    for (std::size_t way = 0; way < ways.size(); ++way)
        std::printf(
            "%-11s test error %5.2f and %5.2f %%; between the two trainings %5.2f %% of "
            "the digits are read otherwise, probabilities differ by %.4f\n",
            ways[way], 100.0 * all[way][0].error, 100.0 * all[way][1].error,
            100.0 * churns[way].flips, churns[way].difference);
    if (churns[0].difference > 0.0)
        std::printf("codistilled models churn %.0f %% less\n",
                    100.0 * (1.0 - churns[1].difference / churns[0].difference));
    std::printf(
        "\nSome digits that two models trained alone read otherwise:\n"
        "digit   is   alone, first   second      codistilled, first   second\n");
    std::int64_t shown = 0;
    for (std::int64_t digit = 0; digit < unseen.size() && shown < s.show; ++digit) {
        const auto first = likeliest(all[0][0], digit), second = likeliest(all[0][1], digit);
        if (first.first == second.first) continue;
        const auto taught = likeliest(all[1][0], digit), again = likeliest(all[1][1], digit);
        std::printf(
            "%5lld %4d   %d (%3.0f %%)        %d (%3.0f %%)   %d (%3.0f %%)              "
            "%d (%3.0f %%)\n",
            static_cast<long long>(digit), static_cast<int>(unseen.label(digit)), first.first,
            100.0 * first.second, second.first, 100.0 * second.second, taught.first,
            100.0 * taught.second, again.first, 100.0 * again.second);
        ++shown;
    }
}

/// Writes a report of each way's first training and of how much the second one differs from it.
void draw(const settings& s, const std::array<sotto::churn, 2>& churns) {
    std::vector<std::string> logs;
    for (std::size_t way = 0; way < ways.size(); ++way) {
        logs.push_back(sotto::path_of_model(log_of(s, way), "group-0"));
        sotto::append_churn(logs.back(), "the same trained again", churns[way]);
    }
    sotto::write_report(sotto::read_json_lines(logs), s.report, {.title = "Trained again"});
    std::printf("\nHow much predictions change: %s\n", std::filesystem::absolute(s.report).c_str());
}

void run(const settings& s) {
    using namespace sotto;
    const auto digits = data::noisy_labels(data::digits(s.quick ? 1'000 : 6'000, random_stream{1}),
                                           s.noise, random_stream{3});
    const auto unseen = data::digits(2'000, random_stream{2});
    const all_reduce inner{momentum_sgd{.learning_rate = s.rate, .momentum = 0.9}};
    const auto by = [&](double weight) {
        return codistillation{inner, forward_kl{}, transport_exchange<>{}, s.groups,
                              constant_weight{.weight = weight}};
    };
    examples::with_transport(s.transport, [&](auto& transport) {
        std::array<std::array<saying, 2>, 2> all;
        for (const std::uint64_t again : {0u, 1u}) {
            const std::uint64_t seed = s.training.seed + again;
            const auto log = [&](std::size_t way) {
                return again == 0 ? log_of(s, way) : std::filesystem::path();
            };
            all[0][again] = train(s, by(0.0), transport, digits, unseen, seed, log(0));
            all[1][again] = train(s, by(s.weight), transport, digits, unseen, seed, log(1));
        }
        if (transport.rank() != 0) return;
        std::array<sotto::churn, 2> churns;
        for (std::size_t way = 0; way < ways.size(); ++way)
            churns[way] = churn_between(all[way][0].probabilities, all[way][1].probabilities, 10);
        show(s, all, churns, unseen);
        draw(s, churns);
    });
}

}  // namespace

int main(int argc, char** argv) {
    settings s;
    CLI::App app{"Shows how much predictions change when a model is trained again",
                 "prediction_churn"};
    app.option_defaults()->always_capture_default();
    app.add_option("--groups", s.groups.count, "Models that teach each other")
        ->check(examples::number_from(2, 1000));
    app.add_option("--every", s.groups.every, "Steps from one exchange of models to the next")
        ->check(examples::at_least_one);
    app.add_option("--weight", s.weight, "Of teachers beside the labels")
        ->check(examples::number_from(0.0, 1e3));
    app.add_option("--common", s.groups.common, "The part of the data that all groups read")
        ->check(examples::number_from(0.0, 1.0));
    app.add_option("--noise", s.noise, "The part of the labels that are drawn by chance")
        ->check(examples::number_from(0.0, 1.0));
    app.add_option("--steps", s.steps, "Of each training")->check(examples::at_least_one);
    app.add_option("--seed", s.training.seed, "Of the first training; the second has the next one");
    app.add_option("--show", s.show, "Digits of which it is shown what is said")
        ->check(examples::number_from(0, 2000));
    app.add_option("--log", s.log, "JSON lines, a file for each way to train and group");
    app.add_option("--report", s.report, "The HTML file to write");
    app.add_flag("--quick", s.quick, "A few seconds: fewer digits, at most 200 steps");
    examples::add_transport(app, s.transport);
    return examples::run(app, argc, argv, [&] {
        if (s.quick) {
            s.steps = std::min<std::int64_t>(s.steps, 200);
            s.groups.burn_in = std::min<std::int64_t>(s.groups.burn_in, 50);
        }
        examples::require_writable({{"--log", s.log}, {"--report", s.report, true}});
        s.transport.seed = s.training.seed;
        run(s);
        return 0;
    });
}
