// expect-error: parameter_server: this compensator corrects the gradients of one round
#include "sotto/staleness/delay_compensation_of_rounds.hpp"
#include "sotto/strategies/parameter_server.hpp"

const sotto::parameter_server misuse{sotto::sgd{}, sotto::asynchronous{},
                                     sotto::delay_compensation_of_rounds{}};
