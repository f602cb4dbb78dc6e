// What codistillation costs beside training alone: two groups of one worker each, a thread each,
// that teach each other, and the same two that do not; and a pass forward, as a teacher's is. All
// of it in turn in each round. The cost of a step is reckoned in such passes, of which a teacher
// needs one: what is above it are exchanges of models, losses and gates.

#include <sotto/sotto.hpp>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <string>
#include <vector>

namespace {

struct settings {
    std::int64_t rounds = 7, steps = 200, every = 50, batch_size = 64;
};

double median(std::vector<double> values) {
    std::sort(values.begin(), values.end());
    return values[values.size() / 2];
}

/// Seconds a step of two groups, by the first one's clock, without the steps before the first
/// teacher is heard.
struct measured {
    double step = 0.0, listening = 0.0;
    std::int64_t heard = 0;
};

template <class Exchange>
measured train(const settings& s, auto make_model, const sotto::data::labelled_set& examples,
               const Exchange& exchange, double weight) {
    using namespace sotto;
    measured found;
    run_in_process(2, [&](auto& transport) {
        auto model = make_model();
        trainer trainer{
            model,
            codistillation{all_reduce{momentum_sgd{.learning_rate = 0.01}}, forward_kl{}, exchange,
                           codistillation_groups{.every = s.every, .common = 1.0},
                           constant_weight{.weight = weight}, teacher_rules{.margin = 1e9}},
            transport,
            {.batch_size = s.batch_size}};
        trainer.fit(examples, steps{2 * std::min<std::int64_t>(s.every, 50)});
        double listening = 0.0;
        std::int64_t heard = 0;
        const auto began = std::chrono::steady_clock::now();
        trainer.fit(examples, steps{s.steps}, [&](const step_report& step) {
            listening += in_seconds(step.round.taught.listening);
            heard += step.round.taught.teachers > 0;
        });
        const double took =
            std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count();
        if (!std::all_of(trainer.parameters().begin(), trainer.parameters().end(),
                         [](float value) { return std::isfinite(value); }))
            throw non_finite(transport.rank(), "parameters", 0);
        if (transport.rank() == 0)
            found = {took / static_cast<double>(s.steps), listening / static_cast<double>(s.steps),
                     heard};
    });
    return found;
}

/// Seconds of a pass forward, on both processors at once, as training is.
double forward(const settings& s, auto make_model, const sotto::data::labelled_set& examples) {
    double seconds = 0.0;
    sotto::run_in_process(2, [&](auto& transport) {
        auto model = make_model();
        std::vector<float> parameters(static_cast<std::size_t>(model.layout().size()));
        model.initialise(parameters, sotto::random_stream{1});
        std::vector<std::int64_t> indices(static_cast<std::size_t>(s.batch_size));
        for (std::size_t i = 0; i < indices.size(); ++i) indices[i] = static_cast<std::int64_t>(i);
        sotto::data::labelled_batch batch;
        examples.gather(indices, batch);
        double sum = 0.0;
        transport.agree(true);
        const auto began = std::chrono::steady_clock::now();
        for (std::int64_t i = 0; i < s.steps; ++i) sum += model.predict(parameters, batch)[0];
        const double took =
            std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count();
        if (!std::isfinite(sum)) throw sotto::non_finite(transport.rank(), "logits", 0);
        if (transport.rank() == 0) seconds = took / static_cast<double>(s.steps);
    });
    return seconds;
}

void compare(const char* name, const settings& s, auto make_model,
             const sotto::data::labelled_set& examples) {
    using namespace sotto;
    std::vector<double> alone, over, in_folder, passes, ratios, folder_ratios, listening;
    const std::string folder = "codistillation_cost_teachers/" + std::string(name);
    for (std::int64_t round = 0; round < s.rounds; ++round) {
        settings apart = s;  // without weight nobody is asked; and there is nothing to send
        apart.every = 1 << 30;
        const measured plain = train(apart, make_model, examples, transport_exchange<>{}, 0.0);
        const measured taught = train(s, make_model, examples, transport_exchange<>{}, 1.0);
        const measured by_files =
            train(s, make_model, examples, checkpoint_exchange<>{.folder = folder}, 1.0);
        if (taught.heard < s.steps / 2 || by_files.heard < s.steps / 2)
            throw invalid_option("codistillation_cost: teachers were heard in " +
                                 std::to_string(taught.heard) + " and " +
                                 std::to_string(by_files.heard) + " of " + std::to_string(s.steps) +
                                 " steps");
        const double pass = forward(s, make_model, examples);
        alone.push_back(plain.step);
        over.push_back(taught.step);
        in_folder.push_back(by_files.step);
        passes.push_back(pass);
        listening.push_back(taught.listening);
        ratios.push_back((taught.step - plain.step) / pass);
        folder_ratios.push_back((by_files.step - plain.step) / pass);
    }
    std::printf("| %s | %.3f | %.3f | %.3f | %.3f | %.3f | %.2f | %.2f |\n", name,
                1e3 * median(alone), 1e3 * median(over), 1e3 * median(in_folder),
                1e3 * median(passes), 1e3 * median(listening), median(ratios),
                median(folder_ratios));
}

}  // namespace

int main(int argc, char** argv) {
    settings s;
    CLI::App app{"What codistillation costs beside training alone"};
    app.add_option("--rounds", s.rounds)->check(CLI::PositiveNumber);
    app.add_option("--steps", s.steps)->check(CLI::PositiveNumber);
    app.add_option("--every", s.every, "Steps between exchanges")->check(CLI::PositiveNumber);
    app.add_option("--batch-size", s.batch_size)->check(CLI::PositiveNumber);
    CLI11_PARSE(app, argc, argv);
    const auto digits = sotto::data::digits(4096, sotto::random_stream{1});
    std::puts(
        "| model | alone, ms a step | taught, transport | taught, folder | pass forward, ms | "
        "listening, ms a step | overhead in passes, transport | folder |\n"
        "|---|---|---|---|---|---|---|---|");
    compare(
        "MLP 784-256-128-10", s,
        [] {
            return sotto::models::mlp{784, 256, 128, 10};
        },
        digits);
    compare(
        "MLP 784-1024-1024-10", s,
        [] {
            return sotto::models::mlp{784, 1024, 1024, 10};
        },
        digits);
    compare(
        "LeNet", s, [] { return sotto::models::lenet{}; }, digits);
    std::printf("\nCommand: bench_training_codistillation_cost --rounds %lld --steps %lld --every "
                "%lld --batch-size %lld\n",
                static_cast<long long>(s.rounds), static_cast<long long>(s.steps),
                static_cast<long long>(s.every), static_cast<long long>(s.batch_size));
    return 0;
}
