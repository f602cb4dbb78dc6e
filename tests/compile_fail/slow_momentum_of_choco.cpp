// expect-error: mixing::slow_momentum: the copies that choco keeps know nothing of the mean

#include "sotto/strategies/gossip/mixing/choco.hpp"
#include "sotto/strategies/gossip/mixing/slow_momentum.hpp"

sotto::mixing::slow_momentum<sotto::mixing::choco> method;
