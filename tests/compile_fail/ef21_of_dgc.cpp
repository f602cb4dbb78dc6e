// expect-error: ef21: the inner compressor must be contractive and remember nothing
// Differences would go through a velocity, and come out as something else.
#include "sotto/compressors/dgc.hpp"
#include "sotto/compressors/ef21.hpp"

const sotto::ef21 misuse{sotto::dgc{}};
