// expect-error: mixing::slow_momentum: ranks that mix in pairs when they like

#include "sotto/strategies/gossip/mixing/asynchronous_pairs.hpp"
#include "sotto/strategies/gossip/mixing/slow_momentum.hpp"

sotto::mixing::slow_momentum<sotto::mixing::asynchronous_pairs> method;
