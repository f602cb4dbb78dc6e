// expect-error: all_reduce: the first policy must be an optimizer: it needs bind\(layout\)
#include "sotto/compressors/dgc.hpp"
#include "sotto/strategies/all_reduce.hpp"

const sotto::all_reduce misuse{sotto::dgc{}, sotto::none{}};
