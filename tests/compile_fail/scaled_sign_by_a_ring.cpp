// expect-error: all_reduce: this compressor's messages cannot be added up, so a summing collective
// Sums of bits are no bits.
#include "sotto/collectives/ring.hpp"
#include "sotto/compressors/error_feedback.hpp"
#include "sotto/compressors/scaled_sign.hpp"
#include "sotto/strategies/all_reduce.hpp"

const sotto::all_reduce misuse{sotto::sgd{}, sotto::error_feedback{sotto::scaled_sign{}},
                               sotto::collectives::ring{}};
