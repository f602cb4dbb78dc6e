// expect-error: fit: the data must be a dataset: it needs batch_type, size\(\) and gather
#include <vector>

#include "sotto/models/mlp.hpp"
#include "sotto/strategies/all_reduce.hpp"
#include "sotto/trainer/trainer.hpp"
#include "sotto/transports/in_process.hpp"

void misuse(sotto::models::mlp<>& model, sotto::in_process& transport) {
    sotto::trainer trainer{model, sotto::all_reduce{}, transport};
    trainer.fit(std::vector<float>(784), sotto::epochs{1});
}
