// expect-error: trainer: the third argument must be a transport: rank\(\), size\(\), send, receive
#include "sotto/models/mlp.hpp"
#include "sotto/strategies/all_reduce.hpp"
#include "sotto/trainer/trainer.hpp"

void misuse(sotto::models::mlp<>& model, int workers) {
    sotto::trainer trainer{model, sotto::all_reduce{}, workers};
}
