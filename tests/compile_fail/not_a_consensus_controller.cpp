// expect-error: gossip: the third policy must be a consensus controller

#include "sotto/strategies/gossip.hpp"
#include "sotto/optimizers/sgd.hpp"

sotto::gossip strategy{sotto::sgd{}, sotto::topologies::ring{}, 0.25};
