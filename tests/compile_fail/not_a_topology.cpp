// expect-error: gossip: the second policy must be a topology

#include "sotto/strategies/gossip.hpp"
#include "sotto/optimizers/sgd.hpp"

sotto::gossip strategy{sotto::sgd{}, 3};
