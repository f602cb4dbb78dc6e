// expect-error: gossip: this mixing method has momentum of its own

#include "sotto/strategies/gossip.hpp"
#include "sotto/strategies/gossip/mixing/quasi_global_momentum.hpp"
#include "sotto/optimizers/momentum_sgd.hpp"

sotto::gossip strategy{sotto::momentum_sgd{}, sotto::topologies::ring{}, sotto::no_control{},
                       sotto::none{}, sotto::mixing::quasi_global_momentum{}};
