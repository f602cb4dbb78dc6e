// expect-error: gossip: by mixing::choco ranks know copies of each other, and no estimate

#include "sotto/compressors/top_k.hpp"
#include "sotto/strategies/gossip/control/consensus_control.hpp"
#include "sotto/strategies/gossip/mixing/choco.hpp"
#include "sotto/optimizers/sgd.hpp"
#include "sotto/strategies/gossip.hpp"

sotto::gossip strategy{sotto::sgd{}, sotto::topologies::ring{}, sotto::consensus_control{},
                       sotto::top_k{}, sotto::mixing::choco{}};
