// expect-error: all_reduce: this compressor's memory already holds the momentum
#include "sotto/compressors/dgc.hpp"
#include "sotto/optimizers/clipped.hpp"
#include "sotto/strategies/all_reduce.hpp"

const sotto::all_reduce misuse{sotto::clipped{sotto::sgd{}, 1.0}, sotto::dgc{}};
