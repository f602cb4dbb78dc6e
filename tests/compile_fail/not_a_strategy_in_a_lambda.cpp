// expect-error: trainer: the second argument must be a strategy: it needs synchronous
// An optimizer says how to move, not what is exchanged: all_reduce{sgd{}}.
#include "sotto/models/mlp.hpp"
#include "sotto/optimizers/sgd.hpp"
#include "sotto/trainer/trainer.hpp"
#include "sotto/transports/run_in_process.hpp"

void misuse() {
    sotto::run_in_process(4, [&](auto& transport) {
        sotto::models::mlp model{784, 32, 10};
        sotto::trainer trainer{model, sotto::sgd{}, transport};
    });
}
