// Trains a residual network with batch norm on generated digits, or on CIFAR-10 with --cifar10.

#include <sotto/data/augmented.hpp>
#include <sotto/data/read_cifar10.hpp>
#include <sotto/models/residual_cnn.hpp>
#include <sotto/models.hpp>
#include <sotto/sotto.hpp>

#include <CLI/CLI.hpp>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <string>
#include <vector>

#include "transport.hpp"

namespace {

struct settings {
    std::filesystem::path cifar10;  // folder with data_batch_*.bin and test_batch.bin
    std::int64_t blocks = 1, width = 8, passes = 6, batch_size = 16;
    double rate = 0.1, density = 0.01;
    std::uint64_t seed = 0;
    examples::transport_options transport{};
    bool quick = false;
};

struct images {
    sotto::data::labelled_set seen, unseen;
    sotto::data::augmented<sotto::data::labelled_set>::options varied{};
};

images cifar10_of(const std::filesystem::path& folder) {
    std::vector<std::string> files;
    for (int i = 1; i <= 5; ++i)
        if (auto file = folder / ("data_batch_" + std::to_string(i) + ".bin");
            std::filesystem::exists(file))
            files.push_back(std::move(file));
    return {sotto::data::read_cifar10(files),
            sotto::data::read_cifar10({folder / "test_batch.bin"})};
}

/// Returns digits that are shifted but not mirrored: a mirrored digit is another character.
images digits(bool quick) {
    return {sotto::data::digits(quick ? 3'000 : 6'000, sotto::random_stream{1}),
            sotto::data::digits(quick ? 500 : 2'000, sotto::random_stream{2}),
            {.padding = 2, .flip = false}};
}

int train(const settings& s) {
    using namespace sotto;
    const images all = s.cifar10.empty() ? digits(s.quick) : cifar10_of(s.cifar10);
    const auto [channels, height, width] = all.seen.shape();
    const models::residual_cnn<>::options network{.blocks = s.blocks,
                                                  .width = s.width,
                                                  .input = {channels, height, width},
                                                  .classes = all.seen.classes()};
    const data::augmented examples{all.seen, all.varied};
    const cosine down{.epochs = static_cast<double>(s.passes)};

    bool learnt = true;
    examples::with_transport(s.transport, [&](auto& transport) {
        models::residual_cnn model{network};
        trainer trainer{
            model,
            all_reduce{scheduled{sgd{.learning_rate = s.rate, .weight_decay = 1e-4}, down},
                       dgc{.density = s.density, .momentum = 0.9, .warm_up_epochs = 1}},
            transport,
            {.batch_size = s.batch_size, .seed = s.seed}};
        const auto report = examples::noted(
            trainer.fit(examples, epochs{s.passes}, evaluate_on{all.unseen}, progress_bar{}));
        if (transport.rank() != 0) return;
        const double accuracy = report.evaluated->accuracy;
        std::printf("%lld parameters, and %lld running statistics that every worker keeps itself\n",
                    static_cast<long long>(model.layout().size()),
                    static_cast<long long>(model.buffer_layout().size()));
        std::printf("accuracy %.2f %%; gradients of %.1f MiB were sent as %.2f MiB\n",
                    100.0 * accuracy, static_cast<double>(report.total.dense_bytes) / (1 << 20),
                    static_cast<double>(report.total.message_bytes) / (1 << 20));
        learnt = accuracy > 2.0 / static_cast<double>(all.seen.classes());
    });
    return learnt ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
    settings s;
    CLI::App app{"Trains a residual network by Deep Gradient Compression", "residual_network"};
    app.option_defaults()->always_capture_default();
    app.add_option("--cifar10", s.cifar10,
                   "Folder of CIFAR-10's binary files; without it, generated digits")
        ->check(CLI::ExistingDirectory);
    app.add_option("--blocks", s.blocks, "In each of three stages; 3 make the ResNet-20");
    app.add_option("--width", s.width, "Channels of the first stage; 16 in the ResNet-20");
    const auto* passes = app.add_option("--epochs", s.passes);
    app.add_option("--batch-size", s.batch_size, "Of one worker");
    app.add_option("--learning-rate", s.rate);
    app.add_option("--density", s.density, "Share of a gradient's entries that is sent");
    app.add_option("--seed", s.seed)->check(examples::whole_number);
    app.add_flag("--quick", s.quick, "The same in seconds");
    examples::add_transport(app, s.transport);
    return examples::run(app, argc, argv, [&] {
        if (s.quick && passes->empty()) s.passes = 3;
        return train(s);
    });
}
