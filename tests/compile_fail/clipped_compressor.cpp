// expect-error: clipped: the first policy must be an optimizer: it needs bind\(layout\)
#include "sotto/compressors/dgc.hpp"
#include "sotto/optimizers/clipped.hpp"

const sotto::clipped misuse{sotto::dgc{}, 1.0};
