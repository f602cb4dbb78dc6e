// expect-error: scheduled: the second policy must be a learning-rate schedule: it needs factor
#include "sotto/compressors/density_schedule.hpp"
#include "sotto/optimizers/scheduled.hpp"
#include "sotto/optimizers/sgd.hpp"

const sotto::scheduled misuse{sotto::sgd{}, sotto::warm_up{}};
