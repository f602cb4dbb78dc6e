// expect-error: parameter_server: the fourth policy must be a compressor
#include "sotto/strategies/parameter_server.hpp"

struct nothing {};
const sotto::parameter_server misuse{sotto::sgd{}, sotto::asynchronous{}, sotto::no_compensation{},
                                     nothing{}};
