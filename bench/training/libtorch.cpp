// One row and one seed of a residual network of LibTorch on the CIFAR-10 sample, trained by four
// workers of this process: dense, or by Deep Gradient Compression. Writes one JSON object; see
// libtorch.py, which runs all of them.

#include <sotto/adapters/torch.hpp>
#include <sotto/compressors/dgc.hpp>
#include <sotto/data/augmented.hpp>
#include <sotto/data/read_cifar10.hpp>
#include <sotto/optimizers/momentum_sgd.hpp>
#include <sotto/optimizers/scheduled.hpp>
#include <sotto/optimizers/schedules.hpp>
#include <sotto/optimizers/sgd.hpp>
#include <sotto/strategies/all_reduce.hpp>
#include <sotto/logging/progress_bar.hpp>
#include <sotto/trainer/trainer.hpp>
#include <sotto/transports/run_in_process.hpp>

#include <CLI/CLI.hpp>
#include <chrono>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <set>
#include <string>

#include "epochs_kept.hpp"
#include "torch_nets.hpp"

namespace {

struct settings {
    std::filesystem::path data, out;
    std::string row = "dense";
    double rate = 0.1, weight_decay = 1e-4, warm_up_epochs = 4.0, density = 0.001;
    std::int64_t passes = 20, batch_size = 16, examples = 0;
    std::uint64_t seed = 1;
};

constexpr int workers = 4;
constexpr double momentum = 0.9;

nlohmann::json train(const settings& s, auto strategy) {
    using namespace sotto;
    const auto folder = s.data / "cifar10-sample";
    auto seen = data::read_cifar10({folder / "data_batch_1.bin"});
    auto unseen = data::read_cifar10({folder / "test_batch.bin"});
    if (s.examples > 0) {
        seen = seen.take(0, s.examples);
        unseen = unseen.take(0, s.examples);
    }
    const data::augmented examples{seen};
    nlohmann::json found;
    run_in_process(workers, {.timeout = std::chrono::minutes(30)}, [&](auto& transport) {
        torch_model model{study::residual_net(), {.input = {3, 32, 32}, .draw = study::draw_anew}};
        transport.agree(true);  // no other module is made while values are drawn
        trainer trainer{model, strategy, transport, {.batch_size = s.batch_size, .seed = s.seed}};
        study::epochs_kept kept;
        const auto keep = [&](const epoch_report& epoch) { kept.add(epoch); };
        const auto whole =
            trainer.fit(examples, epochs{s.passes}, evaluate_on{unseen}, progress_bar{}, keep);
        if (transport.rank() != 0) return;
        found = kept.result(model.layout().size(), whole);
    });
    return found;
}

nlohmann::json by_row(const settings& s) {
    using namespace sotto;
    const cosine down{.epochs = static_cast<double>(s.passes)};
    if (s.row == "dgc")
        return train(
            s, all_reduce{
                   scheduled{sgd{.learning_rate = s.rate, .weight_decay = s.weight_decay}, down},
                   dgc{.density = s.density,
                       .momentum = momentum,
                       .warm_up_epochs = s.warm_up_epochs}});
    return train(s, all_reduce{scheduled{momentum_sgd{.learning_rate = s.rate,
                                                      .momentum = momentum,
                                                      .weight_decay = s.weight_decay},
                                         down}});
}

}  // namespace

int main(int argc, char** argv) {
    settings s;
    CLI::App app{"One row and seed of a module of LibTorch"};
    app.add_option("--data", s.data, "Folder with cifar10-sample/")
        ->required()
        ->envname("SOTTO_DATA");
    app.add_option("--row", s.row)->check(CLI::IsMember(std::set<std::string>{"dense", "dgc"}));
    app.add_option("--out", s.out, "Where the result goes")->required();
    app.add_option("--learning-rate", s.rate);
    app.add_option("--weight-decay", s.weight_decay);
    app.add_option("--density", s.density, "Of what is sent, for dgc");
    app.add_option("--warm-up-epochs", s.warm_up_epochs, "Of the density, for dgc");
    app.add_option("--epochs", s.passes);
    app.add_option("--batch-size", s.batch_size, "Of one worker");
    app.add_option("--examples", s.examples, "Of the sample; 0: all");
    app.add_option("--seed", s.seed);
    CLI11_PARSE(app, argc, argv);
    at::set_num_threads(1);

    const nlohmann::json found = by_row(s);
    std::ofstream to(s.out);
    to << found.dump() << '\n';
    return to.flush() ? 0 : 1;
}
