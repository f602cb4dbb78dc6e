// expect-error: mean_of_senders: the compressor inside keeps the sum of all messages by itself
// The differences that it adds up would be divided by ranks that sent none in this round.
#include "sotto/compressors/ef21.hpp"
#include "sotto/compressors/mean_of_senders.hpp"
#include "sotto/compressors/top_k.hpp"

const sotto::mean_of_senders misuse{sotto::ef21{sotto::top_k{}}};
