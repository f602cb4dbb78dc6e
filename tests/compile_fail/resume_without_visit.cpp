// expect-error: resume: the strategy's ranks must train in step and its state must have visit
// What a state does not show was never saved.
#include "sotto/models/mlp.hpp"
#include "sotto/trainer/trainer.hpp"
#include "sotto/transports/in_process.hpp"

struct forgetful {
    static constexpr bool synchronous = true;
    struct state {
        sotto::detail::data::share share();
        sotto::detail::epoch_agreement begin_epoch(const sotto::detail::epoch_plan&);
        template <class Model>
        sotto::round_report round(sotto::detail::round_input<Model>&, std::span<float>);
    };
    template <class Transport>
    state bind(const sotto::layout&, Transport&) const;
};

void misuse(sotto::models::mlp<>& model, sotto::in_process& transport) {
    sotto::trainer trainer{model, forgetful{}, transport};
    trainer.resume("run");
}
