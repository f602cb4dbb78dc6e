// expect-error: gossip: pairs that mix when they like have no rounds in common

#include "sotto/strategies/gossip/control/consensus_control.hpp"
#include "sotto/strategies/gossip/mixing/asynchronous_pairs.hpp"
#include "sotto/optimizers/sgd.hpp"
#include "sotto/strategies/gossip.hpp"

sotto::gossip strategy{sotto::sgd{}, sotto::topologies::ring{}, sotto::consensus_control{},
                       sotto::none{}, sotto::mixing::asynchronous_pairs{}};
