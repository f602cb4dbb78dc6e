#include <sotto/models.hpp>
#include <sotto/sotto.hpp>

int main() try {
    // Generated data: no file is needed.
    const auto digits = sotto::data::digits(10'000, sotto::random_stream{1});
    const auto unseen = sotto::data::digits(2'000, sotto::random_stream{2});

    sotto::run_in_process(4, [&](sotto::in_process& transport) {  // four workers, one thread each
        sotto::models::mlp model{784, 512, 10};
        sotto::trainer trainer{
            model,
            sotto::all_reduce{sotto::sgd{.learning_rate = 0.1},
                              sotto::dgc{.density = 0.001,
                                         .momentum = 0.9,
                                         .mask_from_sparsity = 0.99,
                                         .warm_up_epochs = 1,
                                         .values = sotto::wire::value_format::fp16}},
            transport};
        trainer.fit(digits, sotto::epochs{10}, sotto::evaluate_on{unseen}, sotto::progress_bar{});
    });
} catch (...) {
    return sotto::report_exception();  // prints the error, returns an exit_code
}
