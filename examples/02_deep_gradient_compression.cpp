// Trains with Deep Gradient Compression. Flags select the data set, the model and each part of the
// method.

#include <sotto/models/lenet.hpp>
#include <sotto/models.hpp>
#include <sotto/sotto.hpp>
#include <sotto/logging/json_lines.hpp>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <map>
#include <string>
#include <string_view>

#include "transport.hpp"

namespace {

enum class network { mlp, lenet };
enum class choice { top_k, sampled_top_k, random_k };
enum class remembered { nothing, residual, momentum };
enum class schedule { constant, warm_up, exponential };

constexpr std::string_view name_of(schedule kind) {
    return kind == schedule::constant  ? "constant"
           : kind == schedule::warm_up ? "warm_up"
                                       : "exponential";
}

struct settings {
    std::string mnist;  // folder of IDX files; empty: generated digits
    std::string log = "deep_gradient_compression.jsonl";
    network model = network::mlp;
    choice selector = choice::top_k;
    remembered memory = remembered::momentum;
    schedule density_schedule = schedule::warm_up;
    double density = 0.001, warm_up_epochs = 1.0, rate = 0.1, momentum = 0.9,
           mask_from_sparsity = 0.99;
    bool nesterov = false, unmasked = false, quick = false, verbose = false;
    sotto::local_clipping clipping{};
    sotto::wire::value_format values = sotto::wire::value_format::fp16;
    bool dense_vectors = true;
    sotto::training_options training{};
    examples::transport_options transport{};
    std::int64_t passes = 10;
};

// A density schedule selected at run time. It is used like the schedules of the library.
struct chosen_schedule {
    schedule kind = schedule::constant;
    double epochs = 1.0;

    double density(double epoch, double target) const {
        switch (kind) {
            case schedule::warm_up: return sotto::warm_up{epochs}.density(epoch, target);
            case schedule::exponential:
                return sotto::exponential_warm_up{epochs}.density(epoch, target);
            case schedule::constant: break;
        }
        return target;
    }
    void check() const { sotto::warm_up{epochs}.check(); }
    void describe(auto&& field) const {
        field("kind", kind);
        field("epochs", epochs);
    }
};

/// Returns the images and labels of one part. Reads the gzipped file if the plain one is missing.
sotto::data::labelled_set read_mnist(const std::filesystem::path& folder, const std::string& part) {
    const auto file = [&](const char* kind) {
        const auto plain = folder / (part + kind);
        auto packed = plain;
        packed += ".gz";
        return std::filesystem::exists(plain) ? plain : packed;
    };
    return sotto::data::read_idx(file("-images-idx3-ubyte"), file("-labels-idx1-ubyte"));
}

template <class Model>
void train(const settings& s, auto make_model, auto optimizer, auto selector, auto memory) {
    using namespace sotto;
    const bool generated = s.mnist.empty();
    const auto digits = generated ? data::digits(s.quick ? 2'000 : 10'000, random_stream{1})
                                  : read_mnist(s.mnist, "train");
    const auto unseen =
        generated ? data::digits(2'000, random_stream{2}) : read_mnist(s.mnist, "t10k");
    const all_reduce strategy{optimizer,
                              sparsified{selector,
                                         memory,
                                         chosen_schedule{s.density_schedule, s.warm_up_epochs},
                                         s.clipping,
                                         {s.values, s.dense_vectors}}};

    examples::with_transport(s.transport, [&](auto& transport) {
        Model model = make_model();
        trainer trainer{model, strategy, transport, s.training};
        const bool speaks = transport.rank() == 0;
        if (speaks && s.verbose) std::fputs(trainer.description().c_str(), stdout);
        round_report last;
        const auto keep = [&](const epoch_report& epoch) { last = epoch.total; };
        const auto fit = [&](auto&&... callbacks) {
            return examples::noted(
                trainer.fit(digits, epochs{s.passes}, evaluate_on{unseen}, callbacks...));
        };
        const fit_report report = speaks ? fit(progress_bar{}, json_lines{s.log}, keep) : fit();
        if (!speaks) return;
        const double gradients = static_cast<double>(report.steps) / static_cast<double>(s.passes);
        std::printf(
            "accuracy %.2f %%; a gradient of the last epoch was sent as %.1f KiB, %.0f "
            "times smaller than in floats\n",
            100.0 * report.evaluated->accuracy,
            static_cast<double>(last.message_bytes) / 1024.0 / gradients,
            static_cast<double>(last.dense_bytes) / static_cast<double>(last.message_bytes));
        if (s.density_schedule != schedule::constant && double(s.passes) <= s.warm_up_epochs)
            std::puts("(the warm-up lasted the whole run: give it more --epochs)");
        const auto& t = report.total;
        std::printf("seconds of rank 0: compute %.2f, compress %.2f, wait %.2f, apply %.2f\n",
                    in_seconds(t.compute), in_seconds(t.compress), in_seconds(t.wait),
                    in_seconds(t.apply));
        std::printf("every step is in %s\n", s.log.c_str());
    });
}

void with_model(const settings& s, auto... rest) {
    using namespace sotto::models;
    if (s.model == network::lenet)
        train<lenet<>>(
            s, [] { return lenet<>{}; }, rest...);
    else
        train<mlp<>>(
            s,
            [] {
                return mlp<>{784, 256, 10};
            },
            rest...);
}

void with_memory(const settings& s, auto selector) {
    using namespace sotto;
    // If the memory holds the momentum, the optimizer must be plain SGD: the compiler refuses
    // momentum twice.
    const momentum_sgd with_momentum{
        .learning_rate = s.rate, .momentum = s.momentum, .nesterov = s.nesterov};
    switch (s.memory) {
        case remembered::nothing: return with_model(s, with_momentum, selector, sotto::no_memory{});
        case remembered::residual: return with_model(s, with_momentum, selector, residual{});
        case remembered::momentum:
            return with_model(
                s, sgd{.learning_rate = s.rate}, selector,
                momentum_corrected{s.momentum, s.nesterov, !s.unmasked, s.mask_from_sparsity});
    }
}

void with_selector(const settings& s) {
    switch (s.selector) {
        case choice::top_k: return with_memory(s, sotto::top_k{s.density});
        case choice::sampled_top_k: return with_memory(s, sotto::sampled_top_k{s.density});
        case choice::random_k: return with_memory(s, sotto::random_k{s.density, 0});
    }
}

/// Adds an option that accepts one of these names.
template <class Kind>
CLI::Option* add_choice(CLI::App& app, const std::string& flag, Kind& chosen,
                        const std::map<std::string, Kind>& names, const std::string& help) {
    std::string known, given;
    for (const auto& [name, kind] : names) {
        known += (known.empty() ? "" : ", ") + name;
        if (kind == chosen) given = name;
    }
    const auto choose = [=, &chosen](const std::string& name) {
        const auto found = names.find(name);
        if (found == names.end())
            throw CLI::ValidationError(flag, "'" + name + "' is none of " + known);
        chosen = found->second;
    };
    return app.add_option_function<std::string>(flag, choose, help + ": " + known)
        ->type_name("NAME")
        ->default_str(given);
}

}  // namespace

int main(int argc, char** argv) {
    settings s;
    using sotto::local_clipping, sotto::wire::value_format;
    CLI::App app{"Trains by Deep Gradient Compression, part by part", "deep_gradient_compression"};
    app.option_defaults()->always_capture_default();
    app.add_option("--mnist", s.mnist, "Folder of MNIST's IDX files; without it, generated digits")
        ->check(CLI::ExistingDirectory);
    add_choice<network>(app, "--model", s.model, {{"mlp", network::mlp}, {"lenet", network::lenet}},
                        "What is trained");
    add_choice<choice>(app, "--selector", s.selector,
                       {{"top_k", choice::top_k},
                        {"sampled_top_k", choice::sampled_top_k},
                        {"random_k", choice::random_k}},
                       "Which entries are sent");
    add_choice<remembered>(app, "--memory", s.memory,
                           {{"none", remembered::nothing},
                            {"residual", remembered::residual},
                            {"momentum", remembered::momentum}},
                           "What becomes of the others");
    add_choice<schedule>(app, "--schedule", s.density_schedule,
                         {{"constant", schedule::constant},
                          {"warm_up", schedule::warm_up},
                          {"exponential", schedule::exponential}},
                         "How dense messages are at first");
    add_choice<value_format>(
        app, "--values", s.values,
        {{"fp32", value_format::fp32}, {"fp16", value_format::fp16}, {"bf16", value_format::bf16}},
        "How values travel");
    add_choice<local_clipping::scopes>(
        app, "--clip-scope", s.clipping.scope,
        {{"tensor", local_clipping::per_tensor}, {"model", local_clipping::per_model}},
        "Whose norm is clipped");
    app.add_option("--clip", s.clipping.norm, "Largest norm of the whole gradient; 0: none");
    app.add_option("--density", s.density, "Share of entries sent after the warm-up");
    app.add_option("--warm-up-epochs", s.warm_up_epochs, "Passes over the data that it lasts");
    app.add_option("--momentum", s.momentum, "In memory, or of the optimizer");
    app.add_flag("--nesterov", s.nesterov, "Nesterov's momentum");
    app.add_flag("--unmasked", s.unmasked, "No momentum factor masking");
    app.add_option("--mask-from-sparsity", s.mask_from_sparsity, "Masking only from here on");
    app.add_flag_callback(
        "--sparse-vectors", [&] { s.dense_vectors = false; }, "Compress biases too");
    app.add_option("--learning-rate", s.rate, "Of all workers together");
    app.add_option("--batch-size", s.training.batch_size, "Of one worker");
    app.add_option("--seed", s.training.seed, "Of starting values and the order of data")
        ->check(examples::whole_number);
    app.add_option("--epochs", s.passes, "Passes over the data")->check(examples::at_least_one);
    app.add_option("--log", s.log, "JSON lines, one a step");
    app.add_flag("--verbose", s.verbose, "Print every option of the run first");
    app.add_flag("--quick", s.quick, "A few seconds: fewer digits, at most 2 epochs");
    examples::add_transport(app, s.transport);
    return examples::run(app, argc, argv, [&] {
        if (s.quick) s.passes = std::min<std::int64_t>(s.passes, 2);
        examples::require_writable({{"--log", s.log}});
        with_selector(s);
        return 0;
    });
}
