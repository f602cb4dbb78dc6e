// expect-error: compressed_pairs: the first policy must be a compressor whose messages are whole by
#include "sotto/compressors/ef21.hpp"
#include "sotto/compressors/top_k.hpp"
#include "sotto/strategies/noloco.hpp"

const sotto::compressed_pairs misuse{sotto::ef21{sotto::top_k{}}};
