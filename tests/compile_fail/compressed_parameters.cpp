// expect-error: gossip: parameters that are mixed must be whole

#include "sotto/strategies/gossip.hpp"
#include "sotto/compressors/top_k.hpp"
#include "sotto/optimizers/sgd.hpp"

sotto::gossip strategy{sotto::sgd{}, sotto::topologies::ring{}, sotto::no_control{},
                       sotto::top_k{}};
