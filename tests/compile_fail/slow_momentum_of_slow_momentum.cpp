// expect-error: mixing::slow_momentum: the method inside takes means of its own

#include "sotto/strategies/gossip/mixing/slow_momentum.hpp"

sotto::mixing::slow_momentum<sotto::mixing::slow_momentum<>> method;
