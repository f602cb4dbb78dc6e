// expect-error: resume: .*so must a compressor with commit or rollback, .*and an optimizer that
// What a schedule or clipping is put around is not made to remember by that.
#include "sotto/models/mlp.hpp"
#include "sotto/optimizers/clipped.hpp"
#include "sotto/optimizers/scheduled.hpp"
#include "sotto/strategies/all_reduce.hpp"
#include "sotto/trainer/trainer.hpp"
#include "sotto/transports/in_process.hpp"

struct forgetful {
    struct state {
        void begin_step(const sotto::step_info&, std::span<const float>);
        void update(const sotto::tensor&, std::span<float>, std::span<const float>) noexcept;
    };
    state bind(const sotto::layout&) const;
};

void misuse(sotto::models::mlp<>& model, sotto::in_process& transport) {
    sotto::trainer trainer{
        model,
        sotto::all_reduce{sotto::scheduled{sotto::clipped{forgetful{}, 1.0}, sotto::cosine{}}},
        transport};
    trainer.resume("run");
}
