// One row and one seed of the ablation of Deep Gradient Compression: trains the small CNN on MNIST
// with four workers in this process and writes one JSON object. See dgc_ablation.sh, which runs all
// of them.

#include <sotto/models/lenet.hpp>
#include <sotto/models.hpp>
#include <sotto/sotto.hpp>

#include <CLI/CLI.hpp>
#include <fstream>
#include <functional>
#include <map>
#include <nlohmann/json.hpp>
#include <string>

#include "study.hpp"

namespace {

struct settings {
    std::string data;
    std::string row = "dense";
    std::string out;
    double rate = 0.02;
    double clip = 2.0;
    double warm_up_epochs = 1.0;
    std::int64_t passes = 10;
    std::int64_t batch_size = 32;
    std::uint64_t seed = 1;
};

constexpr int workers = 4;
constexpr double momentum = 0.9, density = 0.001;

nlohmann::json train(const settings& s, auto strategy, const sotto::data::labelled_set& digits,
                     const sotto::data::labelled_set& unseen) {
    nlohmann::json found;
    sotto::run_in_process(workers, [&](auto& transport) {
        sotto::models::lenet model;
        sotto::trainer trainer{
            model, strategy, transport, {.batch_size = s.batch_size, .seed = s.seed}};
        nlohmann::json errors = nlohmann::json::array();
        sotto::round_report last;
        const auto keep = [&](const sotto::epoch_report& epoch) {
            errors.push_back(100.0 * (1.0 - epoch.evaluated->accuracy));
            last = epoch.total;
        };
        const auto whole = trainer.fit(digits, sotto::epochs{s.passes}, sotto::evaluate_on{unseen},
                                       sotto::progress_bar{}, keep);
        if (transport.rank() != 0) return;
        found = {{"row", s.row},
                 {"seed", s.seed},
                 {"learning_rate", s.rate},
                 {"clip", s.clip},
                 {"warm_up_epochs", s.warm_up_epochs},
                 {"epochs", s.passes},
                 {"batch_size", s.batch_size},
                 {"test_error", errors.back()},
                 {"test_errors", errors},
                 {"train_loss", whole.loss},
                 {"seconds", whole.seconds},
                 {"dense_bytes_an_epoch", last.dense_bytes},
                 {"message_bytes_last_epoch", last.message_bytes},
                 {"bytes_sent", whole.total.bytes_sent}};
    });
    return found;
}

}  // namespace

int main(int argc, char** argv) {
    using namespace sotto;
    settings s;
    const momentum_sgd with_momentum{.learning_rate = 0.0, .momentum = momentum};
    const auto train_row = [&](auto optimizer, auto compressor) {
        optimizer.learning_rate = s.rate;
        return train(s, all_reduce{optimizer, compressor}, study::mnist(s.data, false),
                     study::mnist(s.data, true));
    };
    const top_k selector{.density = density};
    const auto corrected = [&](bool mask) {
        return momentum_corrected{.momentum = momentum, .mask = mask};
    };
    const auto clipping = [&] {
        return local_clipping{.norm = s.clip, .scope = local_clipping::per_tensor};
    };
    const std::map<std::string, std::function<nlohmann::json()>> rows{
        {"dense", [&] { return train_row(with_momentum, none{}); }},
        {"no_memory", [&] { return train_row(with_momentum, selector); }},
        {"gradient_dropping",
         [&] {
             return train_row(with_momentum, sparsified{selector, residual{}});
         }},
        {"momentum_correction",
         [&] {
             return train_row(sgd{}, sparsified{selector, corrected(false)});
         }},
        {"clipping",
         [&] {
             return train_row(
                 sgd{}, sparsified{selector, corrected(false), constant_density{}, clipping()});
         }},
        {"masking",
         [&] {
             return train_row(
                 sgd{}, sparsified{selector, corrected(true), constant_density{}, clipping()});
         }},
        {"warm_up",
         [&] {
             return train_row(sgd{}, sparsified{selector, corrected(true),
                                                warm_up{s.warm_up_epochs}, clipping()});
         }},
        {"unmasked_warm_up",
         [&] {
             return train_row(sgd{}, sparsified{selector, corrected(false),
                                                warm_up{s.warm_up_epochs}, clipping()});
         }},
    };

    CLI::App app{"One row and seed of the ablation of Deep Gradient Compression"};
    CLI::IsMember known(rows);
    app.add_option("--data", s.data, "Folder that holds mnist/")->required()->envname("SOTTO_DATA");
    app.add_option("--row", s.row, "What to train with")->check(known);
    app.add_option("--out", s.out, "Where the result goes")->required();
    app.add_option("--learning-rate", s.rate);
    app.add_option("--clip", s.clip, "Norm of the whole gradient, for rows with clipping");
    app.add_option("--warm-up-epochs", s.warm_up_epochs);
    app.add_option("--epochs", s.passes);
    app.add_option("--batch-size", s.batch_size, "Of one worker");
    app.add_option("--seed", s.seed);
    CLI11_PARSE(app, argc, argv);

    const nlohmann::json found = rows.at(s.row)();
    std::ofstream(s.out) << found.dump() << "\n";
    return 0;
}
