// expect-error: parameter_server: the third policy must be a staleness compensator
#include "sotto/strategies/parameter_server.hpp"

struct nothing {};
const sotto::parameter_server misuse{sotto::sgd{}, sotto::asynchronous{}, nothing{}};
