// expect-error: fit: what follows the length must be evaluate_on.* or a callback: something with
#include "sotto/data/labelled_set.hpp"
#include "sotto/models/mlp.hpp"
#include "sotto/strategies/all_reduce.hpp"
#include "sotto/trainer/trainer.hpp"
#include "sotto/transports/in_process.hpp"

void misuse(sotto::models::mlp<>& model, sotto::in_process& transport,
            const sotto::data::labelled_set& data) {
    sotto::trainer trainer{model, sotto::all_reduce{}, transport};
    trainer.fit(data, sotto::epochs{1}, [](int percent) { return percent; });
}
