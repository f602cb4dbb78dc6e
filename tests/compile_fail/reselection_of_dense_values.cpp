// expect-error: all_reduce: collectives::sparse_reduce_scatter selects from sums of entries
#include "sotto/collectives/sparse_all_reduce.hpp"
#include "sotto/compressors/none.hpp"
#include "sotto/strategies/all_reduce.hpp"

const sotto::all_reduce misuse{sotto::sgd{}, sotto::none{},
                               sotto::collectives::sparse_reduce_scatter{}};
