#pragma once

namespace sotto::detail::kernels {

/// The weight of a correction, and how large it may be.
struct constant_compensation {
    float lambda = 0.04f;  // of the correction
    float bound = 0.0f;    // as a share of the gradient; 0: none
};

/// How the weight of a correction follows the gradients' mean square.
struct adaptive_compensation {
    float lambda = 2.0f;    // of the correction
    double decay = 0.95;    // of the mean square; 0 forgets all but the last gradient
    float epsilon = 1e-7f;  // above 0: the mean square itself may be 0
    float bound = 0.0f;     // of the correction, as a share of the gradient; 0: none
};

}  // namespace sotto::detail::kernels
