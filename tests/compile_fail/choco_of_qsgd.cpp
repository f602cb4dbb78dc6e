// expect-error: gossip: mixing::choco needs messages .*use scaled_down\{qsgd\{\}\}
// Copies that follow what may be further off than nothing diverge.

#include "sotto/compressors/qsgd.hpp"
#include "sotto/strategies/gossip/mixing/choco.hpp"
#include "sotto/optimizers/sgd.hpp"
#include "sotto/strategies/gossip.hpp"

sotto::gossip strategy{sotto::sgd{}, sotto::topologies::ring{}, sotto::no_control{}, sotto::qsgd{},
                       sotto::mixing::choco{}};
