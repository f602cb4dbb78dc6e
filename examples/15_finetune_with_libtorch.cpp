// Fine-tunes a LibTorch network on few examples, with its pretrained features frozen.
//
// The network was trained on five classes. Deep Gradient Compression trains it on five others. The
// data are generated digits, or CIFAR-10 with --cifar10.

#include <sotto/adapters/torch.hpp>
#include <sotto/data/read_cifar10.hpp>
#include <sotto/models.hpp>
#include <sotto/sotto.hpp>

#include <CLI/CLI.hpp>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <vector>

#include "transport.hpp"

namespace {

struct settings {
    std::filesystem::path cifar10, weights;
    std::int64_t passes = 20, before = 6, examples = 400;
    double rate = 0.05, density = 0.01;
    examples::transport_options transport{};
    bool quick = false;
};

/// Convolutional features and a linear head for five classes.
struct network : torch::nn::Cloneable<network> {
    sotto::data::labelled_set::example_shape input;
    torch::nn::Sequential features{nullptr};
    torch::nn::Linear head{nullptr};
    bool frozen = false;

    explicit network(sotto::data::labelled_set::example_shape shape) : input(shape) { reset(); }

    void reset() override {
        using namespace torch::nn;
        const auto conv = [](std::int64_t from, std::int64_t to) {
            return Conv2d(Conv2dOptions(from, to, 3).padding(1).bias(false));
        };
        features = register_module(
            "features", Sequential(conv(input.channels, 16), BatchNorm2d(16), ReLU(), MaxPool2d(2),
                                   conv(16, 32), BatchNorm2d(32), ReLU(), MaxPool2d(2), Flatten()));
        head = register_module("head", Linear(32 * (input.height / 4) * (input.width / 4), 5));
    }

    /// Keeps frozen features in eval(), so that their running statistics do not change.
    void train(bool on = true) override {
        Module::train(on);
        if (frozen) features->eval();
    }

    void freeze() {
        frozen = true;
        for (auto& parameter : features->parameters()) parameter.set_requires_grad(false);
    }

    torch::Tensor forward(torch::Tensor inputs) { return head(features->forward(inputs)); }
};

/// Returns the examples of five classes, from `first` on, as classes 0 to 4.
sotto::data::labelled_set five_of(const sotto::data::labelled_set& all, std::int32_t first) {
    std::vector<std::int64_t> places;
    std::vector<std::int32_t> labels;
    for (std::int64_t i = 0; i < all.size(); ++i)
        if (const auto label = all.label(i) - first; label >= 0 && label < 5) {
            places.push_back(i);
            labels.push_back(label);
        }
    return all.subset(places).with_labels(labels);
}

std::shared_ptr<network> copy_of(const network& net) {
    return std::dynamic_pointer_cast<network>(net.clone());
}

/// Returns the pretrained network: from --weights, or trained by one worker on classes 0 to 4.
std::shared_ptr<network> trained_before(const settings& s, const sotto::data::labelled_set& all) {
    torch::manual_seed(1);
    auto net = std::make_shared<network>(all.shape());
    if (!s.weights.empty()) {
        torch::load(net, s.weights.string());
        return net;
    }
    const auto [channels, height, width] = all.shape();
    sotto::run_in_process(1, [&, channels = channels, height = height, width = width](auto& alone) {
        sotto::torch_model model{net, {.input = {channels, height, width}}};
        sotto::trainer trainer{model, sotto::all_reduce{sotto::momentum_sgd{.learning_rate = 0.02}},
                               alone};
        trainer.fit(five_of(all, 0), sotto::epochs{s.before});
        model.write_back(trainer.parameters());
    });
    return net;
}

double tune(const settings& s, const network& start, bool frozen,
            const sotto::data::labelled_set& seen, const sotto::data::labelled_set& unseen) {
    const auto [channels, height, width] = seen.shape();
    double accuracy = 1.0;
    examples::with_transport(s.transport, [&, channels = channels, height = height,
                                           width = width](auto& transport) {
        auto net = copy_of(start);
        if (frozen) net->freeze();
        sotto::torch_model model{net, {.input = {channels, height, width}}};
        sotto::trainer trainer{
            model,
            sotto::all_reduce{
                sotto::sgd{.learning_rate = s.rate},
                sotto::dgc{.density = s.density, .momentum = 0.9, .warm_up_epochs = 1}},
            transport,
            {.batch_size = 8}};
        const auto report = trainer.fit(seen, sotto::epochs{s.passes}, sotto::evaluate_on{unseen});
        if (transport.rank() != 0) return;
        accuracy = report.evaluated->accuracy;
        std::printf("%-12s %6.2f %%  %7lld parameters learn, sent %.2f MiB\n",
                    frozen ? "fine-tuned" : "from scratch", 100.0 * accuracy,
                    static_cast<long long>(model.layout().size()),
                    static_cast<double>(report.total.bytes_sent) / (1 << 20));
    });
    return accuracy;
}

int compare(const settings& s) {
    at::set_num_threads(1);  // torch threads of each rank
    using sotto::data::digits, sotto::data::read_cifar10, sotto::random_stream;
    const bool colours = !s.cifar10.empty();
    const auto seen = colours ? read_cifar10({s.cifar10 / "data_batch_1.bin"})
                              : digits(s.quick ? 2'000 : 6'000, random_stream{1});
    const auto unseen = colours ? read_cifar10({s.cifar10 / "test_batch.bin"})
                                : digits(s.quick ? 600 : 2'000, random_stream{2});
    const auto few = five_of(seen, 5).take(0, s.examples), others = five_of(unseen, 5);

    const auto before = trained_before(s, seen);
    torch::manual_seed(2);
    const auto fresh = std::make_shared<network>(seen.shape());
    {
        const torch::NoGradGuard none;  // replaces the head: the classes are new
        before->head->weight.copy_(fresh->head->weight);
        before->head->bias.copy_(fresh->head->bias);
    }
    std::printf("%lld examples of five new classes\n", static_cast<long long>(s.examples));
    const double scratch = tune(s, *fresh, false, few, others);
    const double tuned = tune(s, *before, true, few, others);
    return tuned > 0.5 && tuned > scratch - 0.1 ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
    settings s;
    CLI::App app{"Fine-tunes a network of LibTorch on few examples", "finetune_with_libtorch"};
    app.option_defaults()->always_capture_default();
    app.add_option("--cifar10", s.cifar10,
                   "Folder of CIFAR-10's binary files; without it, generated digits")
        ->check(CLI::ExistingDirectory);
    app.add_option("--weights", s.weights, "Of this network, written by torch::save")
        ->check(CLI::ExistingFile);
    const auto* passes = app.add_option("--epochs", s.passes);
    const auto* before = app.add_option("--epochs-before", s.before, "On the first five classes");
    app.add_option("--examples", s.examples, "Of the new classes");
    app.add_option("--learning-rate", s.rate);
    app.add_option("--density", s.density, "Share of a gradient's entries that is sent");
    app.add_flag("--quick", s.quick, "The same in seconds");
    examples::add_transport(app, s.transport);
    return examples::run(app, argc, argv, [&] {
        if (s.quick && passes->empty()) s.passes = 6;
        if (s.quick && before->empty()) s.before = 3;
        return compare(s);
    });
}
