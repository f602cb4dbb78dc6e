// expect-error: fit: on_step, or a function of a step_report, must return nothing
#include "sotto/data/labelled_set.hpp"
#include "sotto/models/mlp.hpp"
#include "sotto/strategies/all_reduce.hpp"
#include "sotto/trainer/trainer.hpp"
#include "sotto/transports/in_process.hpp"

struct impatient {
    sotto::fit_control on_step(const sotto::step_report& report) {
        return report.round.loss < 0.1 ? sotto::fit_control::stop : sotto::fit_control::keep_going;
    }
};

void misuse(sotto::models::mlp<>& model, sotto::in_process& transport,
            const sotto::data::labelled_set& data) {
    sotto::trainer trainer{model, sotto::all_reduce{}, transport};
    trainer.fit(data, sotto::epochs{1}, impatient{});
}
