// expect-error: parameter_server: this compressor's messages change an estimate that all ranks
#include "sotto/compressors/ef21.hpp"
#include "sotto/compressors/top_k.hpp"
#include "sotto/strategies/parameter_server.hpp"

const sotto::parameter_server misuse{sotto::sgd{}, sotto::asynchronous{}, sotto::no_compensation{},
                                     sotto::ef21{sotto::top_k{}}};
