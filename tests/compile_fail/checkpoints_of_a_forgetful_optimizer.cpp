// expect-error: checkpoints: .*and an optimizer that is not linear: what they remember would be
// Nothing says that this optimizer remembers nothing.
#include "sotto/data/digits.hpp"
#include "sotto/models/mlp.hpp"
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
    sotto::trainer trainer{model, sotto::all_reduce{forgetful{}}, transport};
    trainer.fit(sotto::data::digits(10, sotto::random_stream{1}), sotto::epochs{1},
                sotto::checkpoints{"run"});
}
