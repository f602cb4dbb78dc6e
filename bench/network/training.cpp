// Trains one of the library's models over TCP, and tells what every step took:
//   SOTTO_RANK=.. SOTTO_SIZE=.. SOTTO_ADDRESS=.. bench_network_training --model mlp [options]
// With --export it writes instead what ddp.py needs to train the same: starting values, examples
// and the order in which ranks read them. With --advise rank 0 tells as well where compressing
// would begin to pay, as the trainer's own advice has it. Data: the folder SOTTO_DATA.

#include <sotto/data/read_cifar10.hpp>
#include <sotto/data/read_idx.hpp>
#include <sotto/data/read_text.hpp>
#include <sotto/models/character_lstm.hpp>
#include <sotto/models/residual_cnn.hpp>
#include <sotto/models.hpp>
#include <sotto/sotto.hpp>
#include <sotto/report/advice_calibration.hpp>
#include <sotto/report/advice_link.hpp>
#include <sotto/logging/run_recorder.hpp>

#include <CLI/CLI.hpp>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <numeric>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "join.hpp"

// Missing in any other BLAS than OpenBLAS.
extern "C" [[gnu::weak]] char* openblas_get_corename();

namespace {

struct settings {
    std::filesystem::path data, folder;
    std::string model = "mlp", compressor = "dgc";
    double rate = 0.05, density = 0.001, warm_up_epochs = 1.0, mask_from = 0.99;
    std::int64_t steps = 100, batch_size = 64, first_steps = 0;
    std::uint64_t seed = 1;
    bool evaluate = false, advise = false;
};

constexpr double momentum = 0.9;

sotto::dgc deep_gradient_compression(const settings& s) {
    return {.density = s.density,
            .momentum = momentum,
            .mask_from_sparsity = s.mask_from,
            .warm_up_epochs = s.warm_up_epochs,
            .values = sotto::wire::value_format::fp16};
}

template <class T>
void write(const std::filesystem::path& file, std::span<const T> values) {
    std::ofstream to(file, std::ios::binary);
    to.write(reinterpret_cast<const char*>(values.data()),
             static_cast<std::streamsize>(values.size_bytes()));
    if (!to.flush()) throw sotto::io_failure("cannot write '" + file.string() + "'");
}

template <class Data>
nlohmann::json write_examples(const std::filesystem::path& folder, const std::string& name,
                              const Data& data) {
    std::vector<std::int64_t> all(static_cast<std::size_t>(data.size()));
    std::iota(all.begin(), all.end(), std::int64_t{0});
    sotto::data::labelled_batch batch;
    data.gather(all, batch);
    write(folder / (name + "_inputs.f32"), std::span<const float>(batch.inputs()));
    write(folder / (name + "_labels.i32"), std::span<const std::int32_t>(batch.labels()));
    return {{"examples", batch.size()},
            {"width", batch.width()},
            {"labels_each", static_cast<std::int64_t>(batch.labels().size()) / batch.size()}};
}

/// Which examples are read in which order: of every epoch's, rank r of N reads the r-th, the r+N-th
/// and so on. As many epochs as so many ranks need.
void write_order(const settings& s, std::int64_t examples) {
    constexpr std::int64_t ranks_max = 16;
    const std::int64_t batches = (examples / ranks_max - 1) / s.batch_size + 1;
    sotto::detail::data::sampler all(examples, {}, examples,
                                     sotto::random_stream(s.seed).split("order"));
    std::vector<std::int64_t> order;
    for (std::int64_t epoch = 0; epoch <= s.steps / batches; ++epoch) {
        all.begin_epoch(epoch);
        const auto places = all.batch(0);
        order.insert(order.end(), places.begin(), places.end());
    }
    write(s.folder / "order.i64", std::span<const std::int64_t>(order));
}

/// What the advice is given, as a report would: all but the first steps, which take memory or are
/// of a warm-up.
class settled_steps {
public:
    explicit settled_steps(std::int64_t first) : first_(first) {}

    void on_begin(const sotto::run_info& info) { recorder_.on_begin(info); }
    void on_step(const sotto::step_report& step) {
        if (step.step > first_) recorder_.on_step(step);
    }
    double computing_seconds() const { return sotto::computing_seconds(recorder_.log()); }

private:
    std::int64_t first_;
    sotto::run_recorder recorder_;
};

template <class Model>
nlohmann::json train(const settings& s, sotto::tcp& through, Model& model, auto strategy,
                     const auto& examples, const auto& unseen) {
    sotto::trainer trainer{model, strategy, through, {.batch_size = s.batch_size, .seed = s.seed}};
    if (!s.folder.empty()) {
        write(s.folder / "start.f32", trainer.parameters());
        write_order(s, examples.size());
        nlohmann::json about{{"train", write_examples(s.folder, "train", examples)},
                             {"validation", write_examples(s.folder, "validation", unseen)}};
        std::ofstream(s.folder / "about.json") << about.dump() << '\n';
        return about;
    }
    std::vector<double> step_seconds, losses;
    double before = 0.0;
    const auto keep = [&](const sotto::step_report& step) {
        step_seconds.push_back(step.seconds - before);
        if (losses.size() < 5) losses.push_back(step.round.loss);
        before = step.seconds;
    };
    settled_steps settled(s.first_steps);
    const auto whole = trainer.fit(examples, sotto::steps{s.steps}, keep, settled);
    const sotto::round_report& total = whole.total;
    nlohmann::json found{{"contestant", "sotto " + s.compressor},
                         {"model", s.model},
                         {"parameters", model.layout().size()},
                         {"blas", openblas_get_corename ? openblas_get_corename() : "unknown"},
                         {"steps", whole.steps},
                         {"seconds", whole.seconds},
                         {"step_seconds", step_seconds},
                         {"losses", losses},
                         {"computing_seconds", settled.computing_seconds()},
                         {"load", sotto::in_seconds(total.load)},
                         {"compute", sotto::in_seconds(total.compute)},
                         {"compress", sotto::in_seconds(total.compress)},
                         {"wait", sotto::in_seconds(total.wait)},
                         {"apply", sotto::in_seconds(total.apply)},
                         {"bytes_sent", total.bytes_sent},
                         {"train_loss", whole.loss}};
    if (s.evaluate) found["validation_loss"] = trainer.evaluate(unseen).loss;
    return found;
}

/// What the trainer's advice says of whole gradients and of these options. All ranks measure at
/// once, as all ranks compress at once.
nlohmann::json advise(const settings& s, sotto::tcp& through, const sotto::layout& tensors,
                      double compute_seconds) {
    const sotto::network_link link = sotto::measure_link(through);
    through.agree(true);
    std::vector<sotto::detail::way_to_send> ways{
        sotto::calibrate("whole gradients", sotto::none{}, tensors, through.size())};
    ways.back().dense = true;
    through.agree(true);
    ways.push_back(sotto::calibrate("dgc", deep_gradient_compression(s), tensors, through.size()));
    const sotto::advice found = sotto::advise(compute_seconds, link, through.size(), ways);
    const double below = found.steps[1].pays_below_bytes_per_second;
    return {{"bytes_per_second", link.bytes_per_second},
            {"latency_seconds", link.latency_seconds},
            {"compute_seconds", compute_seconds},
            {"dense_step_seconds", found.steps[0].step_seconds},
            {"dgc_step_seconds", found.steps[1].step_seconds},
            {"pays_below_bytes_per_second", std::isfinite(below) ? nlohmann::json(below) : "any"},
            {"sentence", found.sentence}};
}

template <class Model>
nlohmann::json by_compressor(const settings& s, sotto::tcp& through, Model model,
                             const auto& examples, const auto& unseen) {
    const auto run = [&](auto strategy) {
        return train(s, through, model, strategy, examples, unseen);
    };
    const sotto::momentum_sgd with_momentum{.learning_rate = s.rate, .momentum = momentum};
    nlohmann::json found;
    if (s.compressor == "dgc")
        found = run(
            sotto::all_reduce{sotto::sgd{.learning_rate = s.rate}, deep_gradient_compression(s)});
    else if (s.compressor == "fp16")
        found = run(sotto::all_reduce{with_momentum, sotto::fp16{}});
    else
        found = run(sotto::all_reduce{with_momentum});
    if (s.advise && s.folder.empty())
        found["advice"] = advise(s, through, model.layout(), found["computing_seconds"]);
    return found;
}

nlohmann::json by_model(const settings& s, sotto::tcp& through) {
    using namespace sotto;
    if (s.model == "mlp") {
        const auto set = [&](const std::string& name) {
            const auto file = [&](const char* kind) {
                return s.data / "mnist" / (name + "-" + kind + "-ubyte.gz");
            };
            return data::read_idx(file("images-idx3"), file("labels-idx1"));
        };
        return by_compressor(s, through, models::mlp{784, 2560, 2560, 10}, set("train"),
                             set("t10k"));
    }
    if (s.model == "residual_cnn") {
        const auto folder = s.data / "cifar10-sample";
        return by_compressor(s, through, models::residual_cnn{},
                             data::read_cifar10({folder / "data_batch_1.bin"}),
                             data::read_cifar10({folder / "test_batch.bin"}));
    }
    const auto text = data::read_text(s.data / "tinyshakespeare" / "input.txt");
    const auto parts = data::split(text);
    return by_compressor(s, through, models::character_lstm{text.vocabulary().size()}, parts.train,
                         parts.validation);
}

}  // namespace

int main(int count, char** arguments) try {
    settings s;
    CLI::App app{"Training over TCP, and what every step takes"};
    app.add_option("--data", s.data, "Folder with mnist/, cifar10-sample/ and tinyshakespeare/")
        ->required()
        ->envname("SOTTO_DATA");
    const std::set<std::string> models{"mlp", "residual_cnn", "character_lstm"};
    const std::set<std::string> compressors{"none", "fp16", "dgc"};
    app.add_option("--model", s.model)->check(CLI::IsMember(models));
    app.add_option("--compressor", s.compressor)->check(CLI::IsMember(compressors));
    app.add_option("--steps", s.steps)->check(CLI::PositiveNumber);
    app.add_option("--batch-size", s.batch_size, "Of one rank")->check(CLI::PositiveNumber);
    app.add_option("--seed", s.seed);
    app.add_option("--learning-rate", s.rate);
    app.add_option("--density", s.density, "Of dgc");
    app.add_option("--warm-up-epochs", s.warm_up_epochs, "Of dgc's density");
    app.add_option("--mask-from", s.mask_from, "Sparsity from which dgc masks");
    app.add_flag("--evaluate", s.evaluate, "Tell the validation loss at the end");
    app.add_flag("--advise", s.advise, "Tell what the trainer advises");
    app.add_option("--first-steps", s.first_steps, "That the advice takes no account of")
        ->check(CLI::NonNegativeNumber);
    app.add_option("--export", s.folder, "Write what ddp.py needs there, and end");
    CLI11_PARSE(app, count, arguments);
    sotto::tcp through = sotto::tcp::join(bench::tcp_options());
    const nlohmann::json found = by_model(s, through);
    if (through.rank() == 0) std::puts(found.dump().c_str());
    through.agree(true);
} catch (const std::exception& e) {
    std::fprintf(stderr, "%s\n", e.what());
    return 1;
}
