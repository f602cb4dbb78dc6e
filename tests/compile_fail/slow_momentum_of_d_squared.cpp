// expect-error: mixing::slow_momentum: d_squared takes whatever moves the parameters

#include "sotto/strategies/gossip/mixing/d_squared.hpp"
#include "sotto/strategies/gossip/mixing/slow_momentum.hpp"

sotto::mixing::slow_momentum<sotto::mixing::d_squared> method;
