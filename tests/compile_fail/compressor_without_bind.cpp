// expect-error: the second policy must be a compressor: it needs bind\(const layout&\) const
#include "sotto/strategies/all_reduce.hpp"

struct without_bind {
    double density = 0.1;
};

const sotto::all_reduce misuse{sotto::sgd{}, without_bind{}};
