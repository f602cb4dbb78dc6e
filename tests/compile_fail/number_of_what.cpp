// expect-error: fit: the second argument says how long to train: sotto::epochs\{10\} or
// Ten of what?
#include "sotto/data/labelled_set.hpp"
#include "sotto/models/mlp.hpp"
#include "sotto/strategies/all_reduce.hpp"
#include "sotto/trainer/trainer.hpp"
#include "sotto/transports/in_process.hpp"

void misuse(sotto::in_process& transport, const sotto::data::labelled_set& digits) {
    sotto::models::mlp model{784, 32, 10};
    sotto::trainer trainer{model, sotto::all_reduce{}, transport};
    trainer.fit(digits, 10);
}
