// expect-error: all_reduce: collectives::sparse_reduce_scatter selects from sums of entries
// What is not selected would be lost.
#include "sotto/collectives/sparse_all_reduce.hpp"
#include "sotto/compressors/top_k.hpp"
#include "sotto/strategies/all_reduce.hpp"

const sotto::all_reduce misuse{sotto::sgd{}, sotto::top_k{},
                               sotto::collectives::sparse_reduce_scatter{}};
