// expect-error: mixing::slow_momentum: ranks that mix in pairs when they like

#include "sotto/mixing/asynchronous_pairs.hpp"
#include "sotto/mixing/slow_momentum.hpp"

sotto::mixing::slow_momentum<sotto::mixing::asynchronous_pairs> method;
