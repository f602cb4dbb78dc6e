// expect-error: mean_of_senders: the compressor inside applies momentum to what is summed
#include "sotto/compressors/dgc.hpp"
#include "sotto/compressors/mean_of_senders.hpp"

const sotto::mean_of_senders misuse{sotto::dgc{}};
