// expect-error: codistillation: ranks of the first policy are not in step

#include "sotto/strategies/codistillation.hpp"
#include "sotto/distillation/forward_kl.hpp"
#include "sotto/optimizers/sgd.hpp"
#include "sotto/strategies/parameter_server.hpp"
#include "sotto/strategies/codistillation/exchanges/transport_exchange.hpp"

sotto::codistillation strategy{sotto::parameter_server{sotto::sgd{}}, sotto::forward_kl{},
                               sotto::transport_exchange<>{}};
