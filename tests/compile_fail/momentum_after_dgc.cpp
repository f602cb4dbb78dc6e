// expect-error: all_reduce: this compressor's memory already holds the momentum
#include "sotto/compressors/dgc.hpp"
#include "sotto/optimizers/momentum_sgd.hpp"
#include "sotto/strategies/all_reduce.hpp"

const sotto::all_reduce misuse{sotto::momentum_sgd{}, sotto::dgc{}};
