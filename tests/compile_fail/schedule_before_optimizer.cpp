// expect-error: scheduled: the first policy must be an optimizer: it needs bind\(layout\)
#include "sotto/optimizers/scheduled.hpp"
#include "sotto/optimizers/sgd.hpp"

const sotto::scheduled misuse{sotto::cosine{}, sotto::sgd{}};
