// expect-error: parameter_server: the first policy must be an optimizer
#include "sotto/strategies/parameter_server.hpp"

struct nothing {};
const sotto::parameter_server misuse{nothing{}};
