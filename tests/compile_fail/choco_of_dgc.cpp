// expect-error: gossip: mixing::choco remembers itself what was not sent

#include "sotto/strategies/gossip.hpp"
#include "sotto/compressors/dgc.hpp"
#include "sotto/strategies/gossip/mixing/choco.hpp"
#include "sotto/optimizers/sgd.hpp"

sotto::gossip strategy{sotto::sgd{}, sotto::topologies::ring{}, sotto::no_control{}, sotto::dgc{},
                       sotto::mixing::choco{}};
