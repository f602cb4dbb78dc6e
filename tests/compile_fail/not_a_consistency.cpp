// expect-error: parameter_server: the second policy must be a consistency
#include "sotto/strategies/parameter_server.hpp"

struct nothing {};
const sotto::parameter_server misuse{sotto::sgd{}, nothing{}};
