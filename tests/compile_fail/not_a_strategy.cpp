// expect-error: trainer: the second argument must be a strategy: it needs synchronous
// An optimizer says how to move, not what is exchanged: all_reduce{sgd{}}.
#include "sotto/models/mlp.hpp"
#include "sotto/optimizers/sgd.hpp"
#include "sotto/trainer/trainer.hpp"
#include "sotto/transports/in_process.hpp"

void misuse(sotto::models::mlp<>& model, sotto::in_process& transport) {
    sotto::trainer trainer{model, sotto::sgd{}, transport};
}
