// expect-error: gossip: on this transport the loss of a rank ends the job

#include "sotto/models/mlp.hpp"
#include "sotto/optimizers/sgd.hpp"
#include "sotto/strategies/gossip.hpp"
#include "sotto/strategies/gossip/mixing/adapt_then_combine.hpp"
#include "sotto/trainer/trainer.hpp"
#include "sotto/transports/in_process.hpp"

void misuse(sotto::models::mlp<>& model, sotto::in_process& transport) {
    const sotto::gossip strategy{
        sotto::sgd{},  sotto::topologies::ring{},           sotto::no_control{},
        sotto::none{}, sotto::mixing::adapt_then_combine{}, sotto::surviving{}};
    sotto::trainer trainer{model, strategy, transport};
}
