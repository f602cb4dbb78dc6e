// expect-error: sparsified: the second policy must be a memory: it needs holds_momentum
#include "sotto/compressors/density_schedule.hpp"
#include "sotto/compressors/top_k.hpp"

const sotto::sparsified misuse{sotto::top_k{}, sotto::warm_up{}};
