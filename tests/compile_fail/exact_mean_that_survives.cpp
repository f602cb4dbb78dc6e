// expect-error: gossip: exact_mean\{\} takes the mean of all ranks

#include "sotto/strategies/gossip/control/control_phases.hpp"
#include "sotto/strategies/gossip/control/exact_mean.hpp"
#include "sotto/strategies/gossip/mixing/adapt_then_combine.hpp"
#include "sotto/optimizers/sgd.hpp"
#include "sotto/strategies/gossip.hpp"

sotto::gossip strategy{sotto::sgd{},
                       sotto::topologies::ring{},
                       sotto::control_phases{sotto::no_control{}, 4.0, sotto::exact_mean{}},
                       sotto::none{},
                       sotto::mixing::adapt_then_combine{},
                       sotto::surviving{}};
