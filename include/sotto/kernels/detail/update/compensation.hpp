#pragma once

namespace sotto::detail::kernels {

/// The weight of a correction and its bound.
struct constant_compensation {
    float lambda = 0.04f;  // weight of the correction
    float bound = 0.0f;    // largest correction as a share of the gradient; 0: no bound
};

/// A correction whose weight follows the gradients' mean square.
struct adaptive_compensation {
    float lambda = 2.0f;    // weight of the correction
    double decay = 0.95;    // of the mean square; 0 keeps only the last gradient
    float epsilon = 1e-7f;  // above 0, because the mean square may be 0
    float bound = 0.0f;     // largest correction as a share of the gradient; 0: no bound
};

}  // namespace sotto::detail::kernels
