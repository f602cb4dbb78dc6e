// expect-error: transport_exchange: what was not sent of a model is sent with its next

#include "sotto/strategies/codistillation/exchanges/transport_exchange.hpp"
#include "sotto/compressors/dgc.hpp"

sotto::transport_exchange exchange{sotto::dgc{}};
