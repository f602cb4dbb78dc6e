// expect-error: scaled_down: the compressor inside must be unbiased and tell its variance
// What is contractive as it is has nothing to be scaled down for.
#include "sotto/compressors/scaled_down.hpp"
#include "sotto/compressors/top_k.hpp"

const sotto::scaled_down misuse{sotto::top_k{}};
