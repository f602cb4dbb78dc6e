// expect-error: gossip: an exact distance is of all ranks

#include "sotto/strategies/gossip/control/fraction_of_maximum.hpp"
#include "sotto/strategies/gossip/mixing/adapt_then_combine.hpp"
#include "sotto/optimizers/sgd.hpp"
#include "sotto/strategies/gossip.hpp"

sotto::gossip strategy{
    sotto::sgd{},  sotto::topologies::ring{},           sotto::fraction_of_maximum{},
    sotto::none{}, sotto::mixing::adapt_then_combine{}, sotto::surviving{}};
