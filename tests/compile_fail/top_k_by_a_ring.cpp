// expect-error: all_reduce: this compressor's messages cannot be added up, so a summing collective
// Every rank's top-k are other entries: a ring would add up values of different places.
#include "sotto/collectives/ring.hpp"
#include "sotto/compressors/top_k.hpp"
#include "sotto/strategies/all_reduce.hpp"

const sotto::all_reduce misuse{sotto::sgd{}, sotto::top_k{}, sotto::collectives::ring{}};
