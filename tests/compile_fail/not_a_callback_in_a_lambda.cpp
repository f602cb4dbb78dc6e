// expect-error: fit: what follows the length must be evaluate_on.* or a callback: something with
#include "sotto/data/labelled_set.hpp"
#include "sotto/models/mlp.hpp"
#include "sotto/strategies/all_reduce.hpp"
#include "sotto/trainer/trainer.hpp"
#include "sotto/transports/run_in_process.hpp"

void misuse(const sotto::data::labelled_set& data) {
    sotto::run_in_process(4, [&](auto& transport) {
        sotto::models::mlp model{784, 32, 10};
        sotto::trainer trainer{model, sotto::all_reduce{}, transport};
        trainer.fit(data, sotto::epochs{1}, [](int percent) { return percent; });
    });
}
