#pragma once

#include <cmath>
#include <cstdint>

namespace sotto {

/// What is known of the function that is learnt.
struct landscape {
    double smoothness = 0.0;        // L: gradients differ by at most L times the parameters do
    double noise = 0.0;             // sigma^2: the mean of ||g - its expectation||^2 of a rank's
    double squared_gradient = 0.0;  // ||grad f||^2 at the mean of the parameters
};

/// The square of the distance below which decentralized SGD converges as fast as with exact means.
///   math    Gamma^2 = rate sigma^2 / (L n) + ||grad f||^2 / (8 L^2)
///   source  Kong et al. 2021, Consensus control for decentralized deep learning, arXiv:2102.04828
inline double squared_critical_distance(const landscape& known, double learning_rate,
                                        int ranks) noexcept {
    return learning_rate * known.noise / (known.smoothness * ranks) +
           known.squared_gradient / (8.0 * known.smoothness * known.smoothness);
}

/// Estimates the landscape from what ranks' gradients and their mean are like, step after step.
///   math    of n gradients at nearly the same parameters: sigma^2 = n / (n - 1) (mean of ||g_i||^2
///           - ||mean g||^2), ||grad f||^2 = ||mean g||^2 - sigma^2 / n, both as running means; L
///           is the running mean of ||change of mean g|| / ||change of the mean parameters||, less
///           the noise of the two gradients
class landscape_estimate {
public:
    explicit landscape_estimate(double keep = 0.9) noexcept : keep_(keep) {}

    /// The mean over ranks of ||g_i||^2, and ||mean g||^2.
    void see_gradients(double mean_of_squares, double square_of_mean, int ranks) noexcept {
        const double n = ranks;
        const double noise = ranks > 1 ? n / (n - 1.0) * (mean_of_squares - square_of_mean) : 0.0;
        follow(known_.noise, std::fmax(noise, 0.0), gradients_);
        follow(known_.squared_gradient, std::fmax(square_of_mean - noise / n, 0.0), gradients_);
        ++gradients_;
        ranks_ = ranks;
    }

    /// Squares of how far the mean gradient and the mean parameters are from those seen before.
    void see_change(double gradient_change, double parameter_change) noexcept {
        const double of_noise = 2.0 * known_.noise / ranks_;
        if (!(parameter_change > 0.0) || !(gradient_change > of_noise)) return;
        follow(known_.smoothness, std::sqrt((gradient_change - of_noise) / parameter_change),
               changes_++);
    }

    bool is_known() const noexcept { return gradients_ > 0 && changes_ > 0; }
    const landscape& known() const noexcept { return known_; }

private:
    void follow(double& mean, double now, std::int64_t seen) const noexcept {
        mean = seen == 0 ? now : keep_ * mean + (1.0 - keep_) * now;
    }

    double keep_;
    landscape known_;
    std::int64_t gradients_ = 0, changes_ = 0;
    int ranks_ = 1;
};

}  // namespace sotto
