// expect-error: mean_of_senders: the policy inside must be a compressor
#include "sotto/compressors/mean_of_senders.hpp"
#include "sotto/optimizers/sgd.hpp"

const sotto::mean_of_senders misuse{sotto::sgd{}};
