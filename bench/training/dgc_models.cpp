// One row and one seed of dense training beside Deep Gradient Compression on larger models: a
// residual CNN on CIFAR-10 or a character LSTM on Tiny Shakespeare, with four workers in this
// process. Writes one JSON object; or, with --start, what a seed's training begins with: the values
// and, with --order, how examples are read. See dgc_models.py, which runs all of them.

#include <sotto/data/augmented.hpp>
#include <sotto/data/read_cifar10.hpp>
#include <sotto/data/read_text.hpp>
#include <sotto/models/character_lstm.hpp>
#include <sotto/models/residual_cnn.hpp>
#include <sotto/models.hpp>
#include <sotto/sotto.hpp>

#include <CLI/CLI.hpp>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <set>
#include <span>
#include <string>
#include <string_view>

#include "epochs_kept.hpp"

namespace {

struct settings {
    std::filesystem::path data, out, start, order;
    std::string task = "cifar10", row = "dense";
    double rate = 0.1, clip = 0.0, weight_decay = 0.0, warm_up_epochs = 4.0;
    std::int64_t passes = 10, batch_size = 32;
    std::uint64_t seed = 1;
};

constexpr int workers = 4;
constexpr double momentum = 0.9, density = 0.001;

void write(const std::filesystem::path& file, std::string_view content) {
    std::ofstream to(file, std::ios::binary);
    to.write(content.data(), static_cast<std::streamsize>(content.size()));
    if (!to.flush()) throw sotto::io_failure("cannot write '" + file.string() + "'");
}

/// The examples of every epoch, in the order in which the workers together read them: a step's
/// batches are the next ones, as many as all workers have in theirs.
void write_order(const settings& s, std::int64_t examples) {
    sotto::detail::data::sampler all(examples, {}, examples,
                                     sotto::random_stream(s.seed).split("order"));
    std::string raw;
    for (std::int64_t epoch = 0; epoch < s.passes; ++epoch) {
        all.begin_epoch(epoch);
        const auto places = std::as_bytes(all.batch(0));
        raw.append(reinterpret_cast<const char*>(places.data()), places.size());
    }
    write(s.order, raw);
}

template <class Model>
nlohmann::json train(const settings& s, auto make_model, auto strategy, const auto& examples,
                     const auto& unseen) {
    nlohmann::json found;
    sotto::run_in_process(workers, {.timeout = std::chrono::minutes(5)}, [&](auto& transport) {
        Model model = make_model();
        sotto::trainer trainer{
            model, strategy, transport, {.batch_size = s.batch_size, .seed = s.seed}};
        if (!s.start.empty()) {
            const auto values = std::as_bytes(trainer.parameters());
            const std::string_view raw(reinterpret_cast<const char*>(values.data()), values.size());
            if (transport.rank() == 0) write(s.start, raw);
            if (transport.rank() == 0 && !s.order.empty()) write_order(s, examples.size());
            return;
        }
        study::epochs_kept kept;
        const auto keep = [&](const sotto::epoch_report& epoch) { kept.add(epoch); };
        const auto whole = trainer.fit(examples, sotto::epochs{s.passes},
                                       sotto::evaluate_on{unseen}, sotto::progress_bar{}, keep);
        if (transport.rank() != 0) return;
        found = kept.result(model.layout().size(), whole);
    });
    return found;
}

/// The rows differ in what is exchanged; all have the same momentum, decay, rate and schedule.
template <class Model>
nlohmann::json by_row(const settings& s, auto make_model, const auto& examples,
                      const auto& unseen) {
    using namespace sotto;
    const cosine down{.epochs = static_cast<double>(s.passes)};
    const scheduled with_momentum{
        momentum_sgd{.learning_rate = s.rate, .momentum = momentum, .weight_decay = s.weight_decay},
        down};
    const scheduled plain{sgd{.learning_rate = s.rate, .weight_decay = s.weight_decay}, down};
    const auto run = [&](auto strategy) {
        return train<Model>(s, make_model, strategy, examples, unseen);
    };
    if (s.row == "dgc")
        return run(all_reduce{plain, dgc{.density = density,
                                         .momentum = momentum,
                                         .warm_up_epochs = s.warm_up_epochs,
                                         .clip_norm = s.clip,
                                         .clip = local_clipping::per_model}});
    const auto clipped_run = [&](auto compressor) {
        if (s.clip > 0.0) return run(all_reduce{clipped{with_momentum, s.clip}, compressor});
        return run(all_reduce{with_momentum, compressor});
    };
    if (s.row == "gradient_dropping")
        return clipped_run(sparsified{top_k{.density = density}, residual{}});
    return clipped_run(none{});
}

nlohmann::json cifar10(const settings& s) {
    using namespace sotto;
    const auto folder = s.data / "cifar10-sample";
    const data::augmented examples{data::read_cifar10({folder / "data_batch_1.bin"})};
    const auto unseen = data::read_cifar10({folder / "test_batch.bin"});
    using model = models::residual_cnn<>;
    return by_row<model>(
        s, [] { return model{}; }, examples, unseen);
}

nlohmann::json shakespeare(const settings& s) {
    using namespace sotto;
    const auto text = data::read_text(s.data / "tinyshakespeare" / "input.txt");
    const auto parts = data::split(text);
    using model = models::character_lstm<>;
    return by_row<model>(
        s, [&] { return model{text.vocabulary().size()}; }, parts.train, parts.validation);
}

}  // namespace

int main(int argc, char** argv) {
    settings s;
    CLI::App app{"One row and seed of dense training beside Deep Gradient Compression"};
    app.add_option("--data", s.data, "Folder with cifar10-sample/ and tinyshakespeare/")
        ->required()
        ->envname("SOTTO_DATA");
    const std::set<std::string> tasks{"cifar10", "shakespeare"};
    const std::set<std::string> rows{"dense", "gradient_dropping", "dgc"};
    app.add_option("--task", s.task)->check(CLI::IsMember(tasks));
    app.add_option("--row", s.row)->check(CLI::IsMember(rows));
    app.add_option("--out", s.out, "Where the result goes");
    app.add_option("--start", s.start, "Write the values at the start there, and end");
    app.add_option("--order", s.order, "With --start: write the order of the examples there");
    app.add_option("--learning-rate", s.rate);
    app.add_option("--clip", s.clip, "Norm of the whole gradient; 0: no clipping");
    app.add_option("--weight-decay", s.weight_decay);
    app.add_option("--warm-up-epochs", s.warm_up_epochs, "Of the density, for dgc");
    app.add_option("--epochs", s.passes);
    app.add_option("--batch-size", s.batch_size, "Of one worker");
    app.add_option("--seed", s.seed);
    CLI11_PARSE(app, argc, argv);

    const nlohmann::json found = s.task == "cifar10" ? cifar10(s) : shakespeare(s);
    if (s.start.empty()) write(s.out, found.dump() + "\n");
    return 0;
}
