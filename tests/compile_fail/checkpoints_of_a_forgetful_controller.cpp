// expect-error: checkpoints: .*a controller or mixing method of gossip with members
// What a controller remembers from step to step and does not show would be lost by a crash.
#include "sotto/data/digits.hpp"
#include "sotto/models/mlp.hpp"
#include "sotto/strategies/gossip.hpp"
#include "sotto/trainer/trainer.hpp"
#include "sotto/transports/in_process.hpp"

struct forgetful {
    struct state {
        int rounds = 0;  // seen so far

        sotto::consensus_reading::measure needs(const sotto::round_info&) const;
        bool wants_another(const sotto::consensus_reading&);
    };
    state bind() const;
};

void misuse(sotto::models::mlp<>& model, sotto::in_process& transport) {
    sotto::trainer trainer{
        model, sotto::gossip{sotto::sgd{}, sotto::topologies::ring{}, forgetful{}}, transport};
    trainer.fit(sotto::data::digits(10, sotto::random_stream{1}), sotto::epochs{1},
                sotto::checkpoints{"run"});
}
