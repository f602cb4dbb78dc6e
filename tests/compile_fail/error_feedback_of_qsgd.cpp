// expect-error: error_feedback: the inner compressor must be contractive and remember nothing
// What stochastic rounding leaves out can be longer than the gradient itself.
#include "sotto/compressors/error_feedback.hpp"
#include "sotto/compressors/qsgd.hpp"

const sotto::error_feedback misuse{sotto::qsgd{}};
