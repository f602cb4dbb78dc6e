// expect-error: sparsified: the third policy must be a density schedule: it needs density
#include "sotto/compressors/residual.hpp"
#include "sotto/compressors/top_k.hpp"

const sotto::sparsified misuse{sotto::top_k{}, sotto::residual{}, sotto::local_clipping{}};
