// expect-error: sparsified: the first policy must be a selector: it needs density
#include "sotto/compressors/residual.hpp"
#include "sotto/compressors/top_k.hpp"

const sotto::sparsified misuse{sotto::residual{}, sotto::top_k{}};
