// expect-error: all_reduce: the third policy must be a collective, such as collectives::ring
#include "sotto/optimizers/momentum_sgd.hpp"
#include "sotto/strategies/all_reduce.hpp"

const sotto::all_reduce misuse{sotto::sgd{}, sotto::none{}, sotto::momentum_sgd{}};
