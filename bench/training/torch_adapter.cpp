// What sotto takes for a step beside a loop that is written by hand with LibTorch: the same module,
// start, batches and optimizer, one rank and one thread, in turns. Prints one JSON object, and
// fails if the two do not end with the same parameters.

#include <sotto/adapters/torch.hpp>
#include <sotto/core/random.hpp>
#include <sotto/data/labelled_set.hpp>
#include <sotto/optimizers/momentum_sgd.hpp>
#include <sotto/strategies/all_reduce.hpp>
#include <sotto/trainer/trainer.hpp>
#include <sotto/transports/run_in_process.hpp>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <numeric>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "torch_nets.hpp"

namespace {

struct settings {
    std::string model = "residual_cnn";
    std::int64_t batch_size = 32, steps = 20, turns = 15;
    double rate = 0.01;
};

constexpr double momentum = 0.9;

/// How far apart the two may be after their first step, as a part of their way, and the MLPs after
/// a whole turn: rounding. In many layers with batch norm it soon decides on which side of 0 a
/// value is, and has become a twentieth after ten steps.
constexpr double apart_most = 1e-4;

sotto::data::labelled_set examples_of(std::int64_t count,
                                      sotto::data::labelled_set::example_shape shape) {
    sotto::random_stream random{1};
    std::vector<float> values(static_cast<std::size_t>(count * shape.size()));
    for (float& value : values) value = random.normal();
    std::vector<std::int32_t> labels;
    for (std::int64_t i = 0; i < count; ++i)
        labels.push_back(static_cast<std::int32_t>(random.below(10)));
    return {shape, std::move(values), std::move(labels)};
}

double seconds_of(auto&& work) {
    const auto start = std::chrono::steady_clock::now();
    work();
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

/// One epoch, in order. Returns the seconds from zeroed gradients to the last one.
double by_hand(torch::nn::Sequential& net, torch::optim::SGD& optimizer,
               const sotto::data::labelled_set& all, const std::vector<std::int64_t>& shape,
               std::int64_t batch_size, sotto::data::labelled_batch& batch) {
    std::vector<std::int64_t> places(static_cast<std::size_t>(batch_size));
    std::vector<std::int64_t> sizes{batch_size};
    sizes.insert(sizes.end(), shape.begin(), shape.end());
    net->train();
    double computing = 0.0;
    for (std::int64_t first = 0; first < all.size(); first += batch_size) {
        std::iota(places.begin(), places.end(), first);
        all.gather(places, batch);
        const auto inputs = torch::from_blob(batch.inputs().data(), sizes);
        const auto labels = torch::from_blob(batch.labels().data(), {batch_size}, torch::kInt32);
        double loss = 0.0;
        computing += seconds_of([&] {
            optimizer.zero_grad();
            const auto mean = torch::nn::functional::cross_entropy(net->forward(inputs),
                                                                   labels.to(torch::kInt64));
            mean.backward();
            loss = mean.item<double>();
        });
        optimizer.step();
        if (!std::isfinite(loss)) throw sotto::invalid_option("the loss is no number");
    }
    return computing;
}

/// How far apart, as a part of how far both have come.
double apart(const torch::nn::Sequential& net, std::span<const float> other,
             std::span<const float> start) {
    double between = 0.0, moved = 0.0;
    std::size_t i = 0;
    for (const at::Tensor& p : net->parameters()) {
        const auto* values = p.data_ptr<float>();
        for (std::int64_t j = 0; j < p.numel(); ++j, ++i) {
            between += std::pow(double{values[j]} - double{other[i]}, 2);
            moved += std::pow(double{values[j]} - double{start[i]}, 2);
        }
    }
    return std::sqrt(between / moved);
}

double median(std::vector<double> values) {
    std::ranges::sort(values);
    return values[values.size() / 2];
}

nlohmann::json measure(const settings& s) {
    const bool is_mlp = s.model == "mlp";
    const sotto::data::labelled_set::example_shape shape =
        is_mlp ? sotto::data::labelled_set::example_shape{1, 1, 784}
               : sotto::data::labelled_set::example_shape{3, 32, 32};
    const std::vector<std::int64_t> input =
        is_mlp ? std::vector<std::int64_t>{784} : std::vector<std::int64_t>{3, 32, 32};
    const auto all = examples_of(s.batch_size * s.steps, shape);
    const auto first_batch = examples_of(s.batch_size, shape);
    const auto make = [&] {
        torch::manual_seed(1);
        return is_mlp ? study::mlp_net() : study::residual_net();
    };
    nlohmann::json found;
    sotto::run_in_process(1, [&](auto& transport) {
        auto net = make(), hand = make();
        sotto::torch_model model{net, {.input = input}};
        sotto::trainer trainer{
            model,
            sotto::all_reduce{sotto::momentum_sgd{.learning_rate = s.rate, .momentum = momentum}},
            transport,
            {.batch_size = s.batch_size, .shuffle = false}};
        const std::vector<float> start(trainer.parameters().begin(), trainer.parameters().end());
        torch::optim::SGD optimizer(hand->parameters(),
                                    torch::optim::SGDOptions(s.rate).momentum(momentum));
        sotto::data::labelled_batch batch;
        double computing = 0.0, computing_by_hand = 0.0;
        const auto ours = [&](const sotto::data::labelled_set& data) {
            computing = sotto::in_seconds(trainer.fit(data, sotto::epochs{1}).total.compute);
        };
        const auto theirs = [&](const sotto::data::labelled_set& data) {
            computing_by_hand = by_hand(hand, optimizer, data, input, s.batch_size, batch);
        };

        ours(first_batch), theirs(first_batch);
        const double after_one = apart(hand, trainer.parameters(), start);
        ours(all), theirs(all);  // takes memory
        const double after_turn = apart(hand, trainer.parameters(), start);
        std::vector<double> own, by_hands, ratios, of_computing;
        for (std::int64_t turn = 0; turn < s.turns; ++turn) {
            const bool first = turn % 2 == 0;
            if (first) own.push_back(seconds_of([&] { ours(all); }));
            by_hands.push_back(seconds_of([&] { theirs(all); }));
            if (!first) own.push_back(seconds_of([&] { ours(all); }));
            ratios.push_back(own.back() / by_hands.back());
            of_computing.push_back(computing / computing_by_hand);
        }
        const double steps = static_cast<double>(s.steps);
        found = {{"model", s.model},
                 {"parameters", model.layout().size()},
                 {"batch_size", s.batch_size},
                 {"steps", s.steps * s.turns},
                 {"by_hand_ms", 1e3 * median(by_hands) / steps},
                 {"sotto_ms", 1e3 * median(own) / steps},
                 {"ratio", median(ratios)},
                 {"ratio_of_computing", median(of_computing)},
                 {"learning_rate", s.rate},
                 {"parameters_apart_after_a_step", after_one},
                 {"parameters_apart_after_a_turn", after_turn},
                 {"parameters_apart", apart(hand, trainer.parameters(), start)}};
    });
    return found;
}

}  // namespace

int main(int argc, char** argv) {
    settings s;
    std::string out;
    CLI::App app{"A step by sotto beside one that is written by hand with LibTorch"};
    app.add_option("--model", s.model)
        ->check(CLI::IsMember(std::set<std::string>{"mlp", "residual_cnn"}));
    app.add_option("--batch-size", s.batch_size)->check(CLI::PositiveNumber);
    app.add_option("--steps", s.steps, "Of a turn")->check(CLI::PositiveNumber);
    app.add_option("--turns", s.turns)->check(CLI::PositiveNumber);
    app.add_option("--learning-rate", s.rate);
    app.add_option("--out", out, "Where the result goes; else it is printed");
    CLI11_PARSE(app, argc, argv);
    at::set_num_threads(1);

    const nlohmann::json found = measure(s);
    if (out.empty())
        std::printf("%s\n", found.dump().c_str());
    else if (std::FILE* file = std::fopen(out.c_str(), "w")) {
        std::fprintf(file, "%s\n", found.dump().c_str());
        std::fclose(file);
    }
    const double difference =
        found[s.model == "mlp" ? "parameters_apart_after_a_turn" : "parameters_apart_after_a_step"];
    if (difference < apart_most) return 0;
    std::fprintf(stderr, "the parameters are %g of their way apart\n", difference);
    return 1;
}
