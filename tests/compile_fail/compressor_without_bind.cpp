// expect-error: all_reduce: the second policy must be a compressor: it needs bind\(layout\)
#include "sotto/strategies/all_reduce.hpp"

struct without_bind {
    double density = 0.1;
};

const sotto::all_reduce misuse{sotto::sgd{}, without_bind{}};
