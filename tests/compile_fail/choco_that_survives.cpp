// expect-error: gossip: this mixing method remembers what ranks have been to each other

#include "sotto/compressors/top_k.hpp"
#include "sotto/strategies/gossip/mixing/choco.hpp"
#include "sotto/optimizers/sgd.hpp"
#include "sotto/strategies/gossip.hpp"

sotto::gossip strategy{sotto::sgd{},   sotto::topologies::ring{}, sotto::no_control{},
                       sotto::top_k{}, sotto::mixing::choco{},    sotto::surviving{}};
