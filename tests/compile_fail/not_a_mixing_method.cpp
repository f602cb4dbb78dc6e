// expect-error: gossip: the fifth policy must be a mixing method

#include "sotto/strategies/gossip.hpp"
#include "sotto/optimizers/sgd.hpp"

sotto::gossip strategy{sotto::sgd{}, sotto::topologies::ring{}, sotto::no_control{}, sotto::none{},
                       1};
