#include <sotto/launch/environment.hpp>
#include <sotto/models.hpp>
#include <sotto/sotto.hpp>
#include <sotto/transports/tcp.hpp>
#include <sotto/transports/tcp_tls.hpp>  // pre_shared_key: needs OpenSSL 3

#include <cstdio>
#include <cstdlib>

double train(sotto::tcp& transport) {
    const auto digits = sotto::data::digits(4'000, sotto::random_stream{1});
    const auto unseen = sotto::data::digits(1'000, sotto::random_stream{2});
    sotto::models::mlp model{784, 128, 10};
    sotto::trainer trainer{
        model,
        sotto::all_reduce{sotto::sgd{.learning_rate = 0.1},
                          sotto::dgc{.density = 0.01, .momentum = 0.9, .warm_up_epochs = 1}},
        transport};
    trainer.try_resume("checkpoints");  // every rank calls it, rank 0 reads
    const auto report = trainer.fit(digits, sotto::epochs{5}, sotto::progress_bar{},
                                    sotto::checkpoints{"checkpoints", {.every_epochs = 1}});
    const double accuracy = trainer.evaluate(unseen).accuracy;
    if (transport.rank() == 0) std::printf("accuracy %.1f %%\n", 100.0 * accuracy);
    sotto::require_complete_output(report);  // throws if the last checkpoint is missing
    return accuracy;
}

int main() try {
    auto options = sotto::tcp_options::at(sotto::launch::from_environment());
    if (std::getenv("SOTTO_SECRET_FILE") || std::getenv("SOTTO_SECRET"))
        options.security = sotto::pre_shared_key::from_environment();
    sotto::tcp transport = sotto::tcp::join(options);  // returns once all ranks have joined
    try {
        return train(transport) > 0.8 ? 0 : 1;
    } catch (...) {
        sotto::fail_with_exception(transport);  // reports the cause to the other ranks
        throw;
    }
} catch (...) {
    return sotto::report_exception();  // prints the error; 3: restart all ranks
}
