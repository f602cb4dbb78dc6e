// Saves a trained model, uses it without a trainer, and continues training from it.

#include <sotto/models.hpp>
#include <sotto/sotto.hpp>

#include <cstdio>

int main() try {
    const auto digits = sotto::data::digits(4'000, sotto::random_stream{1});
    const auto unseen = sotto::data::digits(1'000, sotto::random_stream{2});
    const sotto::models::mlp model{784, 64, 10};

    sotto::run_in_process(4, [&](sotto::in_process& transport) {
        auto mine = model;
        sotto::trainer trainer{mine, sotto::all_reduce{sotto::sgd{.learning_rate = 0.1}},
                               transport};
        trainer.fit(digits, sotto::epochs{2});
        sotto::save_model(trainer, "model.safetensors");  // every rank calls it, rank 0 writes
    });

    // In another program. `load_model` checks that the file has the layout of this model.
    const auto learnt = sotto::load_model("model.safetensors", model.layout());
    auto reader = model;
    sotto::ensemble one{reader, {{learnt.parameters, learnt.buffers}}};
    const double before = one.evaluate(unseen).accuracy;

    // Continues training, with other workers and another strategy.
    double after = 0.0;
    sotto::run_in_process(2, [&](sotto::in_process& transport) {
        sotto::initialized_from mine{model, learnt};
        sotto::trainer trainer{
            mine, sotto::all_reduce{sotto::sgd{.learning_rate = 0.05}, sotto::dgc{.density = 0.01}},
            transport};
        const auto report = trainer.fit(digits, sotto::epochs{2}, sotto::evaluate_on{unseen});
        if (transport.rank() == 0) after = report.evaluated->accuracy;
    });
    std::printf("accuracy %.1f %%, and trained on %.1f %%\n", 100.0 * before, 100.0 * after);
    return before > 0.5 && after > before ? 0 : 1;
} catch (...) {
    return sotto::report_exception();  // prints the error, returns an exit_code
}
