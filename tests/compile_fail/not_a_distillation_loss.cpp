// expect-error: codistillation: the second policy must be a distillation_loss

#include "sotto/strategies/codistillation.hpp"
#include "sotto/losses/cross_entropy.hpp"
#include "sotto/strategies/all_reduce.hpp"

sotto::codistillation strategy{sotto::all_reduce{}, sotto::cross_entropy{}};
