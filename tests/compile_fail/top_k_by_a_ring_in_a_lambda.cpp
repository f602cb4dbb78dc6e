// expect-error: all_reduce: this compressor's messages cannot be added up, so a summing collective
#include "sotto/collectives/ring.hpp"
#include "sotto/compressors/top_k.hpp"
#include "sotto/models/mlp.hpp"
#include "sotto/strategies/all_reduce.hpp"
#include "sotto/trainer/trainer.hpp"
#include "sotto/transports/run_in_process.hpp"

void misuse() {
    sotto::run_in_process(4, [&](auto& transport) {
        sotto::models::mlp model{784, 32, 10};
        sotto::trainer trainer{
            model, sotto::all_reduce{sotto::sgd{}, sotto::top_k{}, sotto::collectives::ring{}},
            transport};
    });
}
