// Trains the ResNet-20 of LibTorch over TCP, and tells what every step took:
//   SOTTO_RANK=.. SOTTO_SIZE=.. SOTTO_ADDRESS=.. bench_network_libtorch_training --start FILE
// It begins with the values in FILE, which training.cpp exports, and reads the same batches as
// training.cpp and ddp.py with the same options. Data: the folder SOTTO_DATA.

#include <sotto/adapters/torch.hpp>
#include <sotto/compressors/dgc.hpp>
#include <sotto/data/read_cifar10.hpp>
#include <sotto/optimizers/momentum_sgd.hpp>
#include <sotto/optimizers/sgd.hpp>
#include <sotto/strategies/all_reduce.hpp>
#include <sotto/trainer/trainer.hpp>

#include <CLI/CLI.hpp>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <vector>

#include "../training/torch_nets.hpp"
#include "join.hpp"

// Missing in any other BLAS than OpenBLAS.
extern "C" [[gnu::weak]] char* openblas_get_corename();

namespace {

struct settings {
    std::filesystem::path data, start;
    std::string model = "residual_cnn", compressor = "dgc";
    double rate = 0.05, density = 0.001, warm_up_epochs = 1.0, mask_from = 0.99;
    std::int64_t steps = 100, batch_size = 64;
    std::uint64_t seed = 1;
};

constexpr double momentum = 0.9;

/// Fills a module's parameters with the values of a file, in their order.
void read_values(torch::nn::Sequential& net, const std::filesystem::path& file) {
    std::ifstream from(file, std::ios::binary);
    for (const at::Tensor& p : net->parameters())
        from.read(static_cast<char*>(p.data_ptr()), static_cast<std::streamsize>(p.nbytes()));
    if (!from || from.peek() != std::ifstream::traits_type::eof())
        throw sotto::io_failure("'" + file.string() + "' does not hold this network's values");
}

nlohmann::json train(const settings& s, sotto::tcp& through, auto strategy) {
    torch::nn::Sequential net = study::residual_net();
    read_values(net, s.start);
    sotto::torch_model model{net, {.input = {3, 32, 32}}};
    sotto::trainer trainer{model, strategy, through, {.batch_size = s.batch_size, .seed = s.seed}};
    std::vector<double> step_seconds, losses;
    double before = 0.0;
    const auto keep = [&](const sotto::step_report& step) {
        step_seconds.push_back(step.seconds - before);
        if (losses.size() < 5) losses.push_back(step.round.loss);
        before = step.seconds;
    };
    const auto examples =
        sotto::data::read_cifar10({s.data / "cifar10-sample" / "data_batch_1.bin"});
    const auto whole = trainer.fit(examples, sotto::steps{s.steps}, keep);
    const sotto::round_report& total = whole.total;
    return {{"contestant", "sotto libtorch " + s.compressor},
            {"model", s.model},
            {"parameters", model.layout().size()},
            {"blas", openblas_get_corename ? openblas_get_corename() : "unknown"},
            {"steps", whole.steps},
            {"seconds", whole.seconds},
            {"step_seconds", step_seconds},
            {"losses", losses},
            {"compute", sotto::in_seconds(total.compute)},
            {"compress", sotto::in_seconds(total.compress)},
            {"wait", sotto::in_seconds(total.wait)},
            {"apply", sotto::in_seconds(total.apply)},
            {"bytes_sent", total.bytes_sent},
            {"train_loss", whole.loss}};
}

nlohmann::json by_compressor(const settings& s, sotto::tcp& through) {
    using namespace sotto;
    if (s.compressor == "dgc")
        return train(
            s, through,
            all_reduce{sgd{.learning_rate = s.rate}, dgc{.density = s.density,
                                                         .momentum = momentum,
                                                         .mask_from_sparsity = s.mask_from,
                                                         .warm_up_epochs = s.warm_up_epochs,
                                                         .values = wire::value_format::fp16}});
    return train(s, through,
                 all_reduce{momentum_sgd{.learning_rate = s.rate, .momentum = momentum}});
}

}  // namespace

int main(int count, char** arguments) try {
    settings s;
    CLI::App app{"Training a module of LibTorch over TCP, and what every step takes"};
    app.add_option("--data", s.data, "Folder with cifar10-sample/")
        ->required()
        ->envname("SOTTO_DATA");
    app.add_option("--start", s.start, "Values to begin with")
        ->required()
        ->check(CLI::ExistingFile);
    app.add_option("--model", s.model)->check(CLI::IsMember(std::set<std::string>{"residual_cnn"}));
    app.add_option("--compressor", s.compressor)
        ->check(CLI::IsMember(std::set<std::string>{"none", "dgc"}));
    app.add_option("--steps", s.steps)->check(CLI::PositiveNumber);
    app.add_option("--batch-size", s.batch_size, "Of one rank")->check(CLI::PositiveNumber);
    app.add_option("--seed", s.seed);
    app.add_option("--learning-rate", s.rate);
    app.add_option("--density", s.density, "Of dgc");
    app.add_option("--warm-up-epochs", s.warm_up_epochs, "Of dgc's density");
    app.add_option("--mask-from", s.mask_from, "Sparsity from which dgc masks");
    CLI11_PARSE(app, count, arguments);
    at::set_num_threads(1);
    sotto::tcp through = sotto::tcp::join(bench::tcp_options());
    const nlohmann::json found = by_compressor(s, through);
    if (through.rank() == 0) std::puts(found.dump().c_str());
    through.agree(true);
} catch (const std::exception& e) {
    std::fprintf(stderr, "%s\n", e.what());
    return 1;
}
