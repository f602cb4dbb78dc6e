// expect-error: mixing::slow_momentum: the copies that choco keeps know nothing of the mean

#include "sotto/mixing/choco.hpp"
#include "sotto/mixing/slow_momentum.hpp"

sotto::mixing::slow_momentum<sotto::mixing::choco> method;
