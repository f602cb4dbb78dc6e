// expect-error: all_reduce: this compressor's memory already holds the momentum
#include "sotto/compressors/dgc.hpp"
#include "sotto/models/mlp.hpp"
#include "sotto/optimizers/momentum_sgd.hpp"
#include "sotto/strategies/all_reduce.hpp"
#include "sotto/trainer/trainer.hpp"
#include "sotto/transports/run_in_process.hpp"

void misuse() {
    sotto::run_in_process(4, {.transfers = 100}, [&](auto& transport) {
        sotto::models::mlp model{784, 32, 10};
        sotto::trainer trainer{model, sotto::all_reduce{sotto::momentum_sgd{}, sotto::dgc{}},
                               transport};
    });
}
