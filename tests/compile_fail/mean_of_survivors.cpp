// expect-error: the mean of all ranks: by gossip with surviving
#include "sotto/strategies/gossip/mixing/adapt_then_combine.hpp"
#include "sotto/models/mlp.hpp"
#include "sotto/optimizers/sgd.hpp"
#include "sotto/strategies/gossip.hpp"
#include "sotto/trainer/trainer.hpp"
#include "sotto/transports/simulated.hpp"

void misuse(sotto::models::mlp<>& model, sotto::simulated& transport) {
    const sotto::gossip strategy{
        sotto::sgd{},  sotto::topologies::ring{},           sotto::no_control{},
        sotto::none{}, sotto::mixing::adapt_then_combine{}, sotto::surviving{}};
    sotto::trainer trainer{model, strategy, transport};
    (void)trainer.mean_parameters();
}
