// expect-error: all_reduce: this compressor's memory already holds the momentum
// A schedule around it hides nothing.
#include "sotto/compressors/dgc.hpp"
#include "sotto/optimizers/momentum_sgd.hpp"
#include "sotto/optimizers/scheduled.hpp"
#include "sotto/strategies/all_reduce.hpp"

const sotto::all_reduce misuse{sotto::scheduled{sotto::momentum_sgd{}, sotto::cosine{}},
                               sotto::dgc{}};
