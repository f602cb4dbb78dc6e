// expect-error: parameter_server: this compensator makes a step of every gradient of a round
#include "sotto/strategies/parameter_server/consistency/bulk_synchronous.hpp"
#include "sotto/optimizers/momentum_sgd.hpp"
#include "sotto/staleness/delay_compensation_of_rounds.hpp"
#include "sotto/strategies/parameter_server.hpp"

const sotto::parameter_server misuse{sotto::momentum_sgd{}, sotto::bulk_synchronous{},
                                     sotto::delay_compensation_of_rounds{}};
