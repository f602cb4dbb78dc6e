// One run of the study of asynchrony: trains on a simulated network with workers of random speeds,
// or one slow among them, and writes one JSON object: test error by passes over the data and by
// virtual seconds, and how late gradients were. See asynchrony.py, which runs all of them.

#include <sotto/data/read_cifar10.hpp>
#include <sotto/models/residual_cnn.hpp>
#include <sotto/models.hpp>
#include <sotto/sotto.hpp>
#include <sotto/transports/run_simulated.hpp>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cmath>
#include <fstream>
#include <functional>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "study.hpp"

namespace {

struct settings {
    std::string data;
    std::string model = "mlp";
    std::string method = "asgd";
    std::string out;
    int workers = 4;
    double rate = 0.1;
    std::int64_t passes = 10;
    std::int64_t examples = 12000;
    std::int64_t batch_size = 32;
    std::uint64_t seed = 1;
    double slow = 1.0;          // how much slower the last worker is
    double check_every = 1.0;   // passes
    double target_loss = -1.0;  // ends there
};

/// Milliseconds a batch on an average worker, some milliseconds a read and a push: what a model of
/// this size and a network of 1 Gbit/s give about, at any machine.
sotto::simulated_options network_of(const settings& s) {
    sotto::simulated_options options = study::network(s.seed);
    const int slowest = s.workers;  // rank 0 serves
    if (s.slow > 1.0)
        options.slowness = sotto::speeds::one_slow{
            .rank = slowest, .factor = s.slow, .others = sotto::speeds::uniform{0.9, 1.1}};
    else
        options.slowness = sotto::speeds::exponential{.fixed = 0.2};
    return options;
}

/// What is known of a run so far; ranks of a simulated network run one at a time.
struct progress {
    std::int64_t pushed = 0;  // examples
    double next_check = 0.0;  // passes
    bool reached = false;
    nlohmann::json checks = nlohmann::json::array();
};

/// The running statistics of batch norm that are evaluated: the mean of all workers'.
template <class Model>
void take_mean_of_buffers(const std::vector<std::unique_ptr<Model>>& models) {
    const auto mean = models.front()->buffers();
    std::fill(mean.begin(), mean.end(), 0.0f);
    const float share = 1.0f / static_cast<float>(models.size() - 1);
    for (std::size_t worker = 1; worker < models.size(); ++worker)
        for (std::size_t i = 0; i < mean.size(); ++i)
            mean[i] += share * models[worker]->buffers()[i];
}

template <class Model, class Strategy>
nlohmann::json train(const settings& s, const Strategy& strategy, auto make_model,
                     const sotto::data::labelled_set& digits,
                     const sotto::data::labelled_set& unseen) {
    progress now{.next_check = s.check_every};
    nlohmann::json found;
    std::function<sotto::evaluation()> evaluate;
    std::vector<std::unique_ptr<Model>> models;  // they outlive their ranks
    const int ranks = s.workers + 1;
    for (int rank = 0; rank < ranks; ++rank)
        models.push_back(std::make_unique<Model>(make_model()));
    const auto run = sotto::run_simulated(ranks, network_of(s), [&](sotto::simulated& transport) {
        Model& model = *models[static_cast<std::size_t>(transport.rank())];
        sotto::trainer trainer{
            model, strategy, transport, {.batch_size = s.batch_size, .seed = s.seed}};
        sotto::detail::evaluator<Model> measuring(256, transport);
        // Not beyond the trainer that it reads, also where that ends by an exception.
        struct until_end {
            std::function<sotto::evaluation()>* shown;
            ~until_end() {
                if (shown) *shown = nullptr;
            }
        } const guard{transport.rank() == 0 ? &evaluate : nullptr};
        if (transport.rank() == 0)
            evaluate = [&] {
                if constexpr (sotto::detail::with_buffers<Model>) take_mean_of_buffers(models);
                return measuring.alone(model, trainer.state().server()->own(), unseen);
            };
        const auto check = [&](const sotto::step_report& step) {
            now.pushed += step.round.examples;
            const double passes =
                static_cast<double>(now.pushed) / static_cast<double>(digits.size());
            if (passes < now.next_check || now.reached || !evaluate) return;
            now.next_check += s.check_every;
            const sotto::evaluation e = evaluate();
            now.checks.push_back(
                {{"passes", passes},
                 {"seconds", sotto::in_seconds(transport.now().time_since_epoch())},
                 {"loss", std::isfinite(e.loss) ? e.loss : 1e9},
                 {"error", 100.0 * (1.0 - e.accuracy)}});
            now.reached = e.loss <= s.target_loss;
        };
        const auto until_reached = [&](const sotto::epoch_report&) {
            return now.reached ? sotto::fit_control::stop : sotto::fit_control::keep_going;
        };
        trainer.fit(digits, sotto::epochs{s.passes}, check, until_reached);
        if (transport.rank() != 0) return;
        const auto& server = *trainer.state().server();
        const sotto::evaluation e = evaluate();
        nlohmann::json late = nlohmann::json::array();
        for (int worker = 0; worker < s.workers; ++worker)
            late.push_back(server.staleness().mean(worker));
        evaluate = nullptr;
        found = {{"method", s.method},
                 {"model", s.model},
                 {"workers", s.workers},
                 {"learning_rate", s.rate},
                 {"seed", s.seed},
                 {"passes", s.passes},
                 {"slow", s.slow},
                 {"batch_size", s.batch_size},
                 {"steps", server.version()},
                 {"mean_staleness", late},
                 {"test_error", 100.0 * (1.0 - e.accuracy)},
                 {"test_loss", std::isfinite(e.loss) ? e.loss : 1e9}};
    });
    found["seconds"] = sotto::in_seconds(run.took);
    found["checks"] = now.checks;
    found["trace_hash"] = run.trace_hash;
    return found;
}

}  // namespace

int main(int argc, char** argv) {
    using namespace sotto;
    settings s;
    const auto train_by = [&](auto consistency, auto compensator) {
        const sgd by{.learning_rate = s.rate};
        const parameter_server strategy{by, consistency, compensator, none{},
                                        serving{.dedicated = true}};
        if (s.model == "residual_cnn") {
            const auto folder = s.data + "/cifar10-sample/";
            return train<models::residual_cnn<>>(
                s, strategy, [] { return models::residual_cnn{{.blocks = 1}}; },
                data::read_cifar10({folder + "data_batch_1.bin"}),
                data::read_cifar10({folder + "test_batch.bin"}));
        }
        return train<models::mlp<>>(
            s, strategy,
            [] {
                return models::mlp{784, 64, 64, 10};
            },
            study::mnist(s.data, false).take(0, s.examples), study::mnist(s.data, true));
    };
    const std::map<std::string, std::function<nlohmann::json()>> methods{
        {"asgd", [&] { return train_by(asynchronous{}, no_compensation{}); }},
        {"ssgd", [&] { return train_by(bulk_synchronous{}, no_compensation{}); }},
        {"ssp",
         [&] {
             return train_by(stale_synchronous{.bound = 3, .averaged = false}, no_compensation{});
         }},
        {"ada_delay", [&] { return train_by(asynchronous{}, ada_delay{}); }},
        {"inverse", [&] { return train_by(asynchronous{}, inverse_staleness{}); }},
        {"gap_aware", [&] { return train_by(asynchronous{}, gap_aware{}); }},
        {"dc_c", [&] { return train_by(asynchronous{}, delay_compensation{.lambda = 0.04}); }},
        {"dc_a", [&] { return train_by(asynchronous{}, delay_compensation_adaptive{}); }},
        {"dc_ssgd",
         [&] {
             return train_by(bulk_synchronous{}, delay_compensation_of_rounds{.lambda = 0.04});
         }},
    };

    CLI::App app{"One run of the study of asynchrony"};
    app.add_option("--data", s.data, "Folder that holds mnist/ and cifar10-sample/")
        ->required()
        ->envname("SOTTO_DATA");
    app.add_option("--model", s.model)->check(CLI::IsMember({"mlp", "residual_cnn"}));
    app.add_option("--method", s.method)->check(CLI::IsMember(methods));
    app.add_option("--out", s.out, "Where the result goes")->required();
    app.add_option("--workers", s.workers)->check(CLI::PositiveNumber);
    app.add_option("--learning-rate", s.rate);
    app.add_option("--passes", s.passes, "Over the data, of all workers together");
    app.add_option("--examples", s.examples, "Of MNIST's");
    app.add_option("--batch-size", s.batch_size, "Of one worker");
    app.add_option("--seed", s.seed);
    app.add_option("--slow", s.slow, "How much slower the last worker is; 1: speeds are random");
    app.add_option("--check-every", s.check_every, "Passes between two evaluations");
    app.add_option("--target-loss", s.target_loss, "Ends once the test loss is below it");
    CLI11_PARSE(app, argc, argv);

    nlohmann::json found;
    try {
        found = methods.at(s.method)();
    } catch (const non_finite&) {  // it diverged: as good as any guess
        found = {
            {"method", s.method},      {"model", s.model},   {"workers", s.workers},
            {"learning_rate", s.rate}, {"seed", s.seed},     {"passes", s.passes},
            {"slow", s.slow},          {"diverged", true},   {"test_error", 90.0},
            {"test_loss", 1e9},        {"seconds", nullptr}, {"checks", nlohmann::json::array()}};
    }
    std::ofstream(s.out) << found.dump() << "\n";
    return 0;
}
