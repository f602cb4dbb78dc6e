// expect-error: fit: on_epoch, or a function of an epoch_report, must return nothing or a
#include "sotto/data/labelled_set.hpp"
#include "sotto/models/mlp.hpp"
#include "sotto/strategies/all_reduce.hpp"
#include "sotto/trainer/trainer.hpp"
#include "sotto/transports/in_process.hpp"

void misuse(sotto::models::mlp<>& model, sotto::in_process& transport,
            const sotto::data::labelled_set& data) {
    sotto::trainer trainer{model, sotto::all_reduce{}, transport};
    trainer.fit(data, sotto::epochs{1},
                [](const sotto::epoch_report& report) { return report.loss < 0.1; });
}
