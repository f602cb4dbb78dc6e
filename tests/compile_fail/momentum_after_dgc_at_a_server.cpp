// expect-error: parameter_server: this compressor's memory already holds the momentum
#include "sotto/compressors/dgc.hpp"
#include "sotto/optimizers/momentum_sgd.hpp"
#include "sotto/strategies/parameter_server.hpp"

const sotto::parameter_server misuse{sotto::momentum_sgd{}, sotto::asynchronous{},
                                     sotto::no_compensation{}, sotto::dgc{}};
