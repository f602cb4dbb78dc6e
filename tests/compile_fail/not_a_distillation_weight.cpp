// expect-error: codistillation: the fourth policy must be a distillation_weight

#include "sotto/strategies/codistillation.hpp"
#include "sotto/distillation/forward_kl.hpp"
#include "sotto/strategies/all_reduce.hpp"

sotto::codistillation strategy{sotto::all_reduce{}, sotto::forward_kl{},
                               sotto::checkpoint_exchange{.folder = "teachers"},
                               sotto::codistillation_groups{}, 0.5};
