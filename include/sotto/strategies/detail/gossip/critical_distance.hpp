#pragma once

#include <cstdint>

namespace sotto::detail {

/// What is known of the function that is learnt.
struct landscape {
    double smoothness = 0.0;        // L: gradients differ by at most L times the parameters do
    double noise = 0.0;             // sigma^2: the mean of ||g - its expectation||^2 of a rank's
    double squared_gradient = 0.0;  // ||grad f||^2 at the mean of the parameters
};

/// The square of the distance below which decentralized SGD converges as fast as with exact means.
///   math    Gamma^2 = rate sigma^2 / (L n) + ||grad f||^2 / (8 L^2)
///   source  Kong et al. 2021, Consensus control for decentralized deep learning, arXiv:2102.04828
double squared_critical_distance(const landscape& known, double learning_rate, int ranks) noexcept;

/// The mean of all that came, and after 1 / (1 - keep) values about of that many last ones.
class running_mean {
public:
    explicit running_mean(double keep) noexcept : keep_(keep) {}

    void add(double value) noexcept;
    std::int64_t count() const noexcept { return count_; }
    double value() const noexcept { return mean_; }
    /// Of the mean, were values independent of each other.
    double standard_error() const noexcept;
    /// Whether it is above 0 by more than chance makes of as few values: by chance alone one mean
    /// in forty is.
    bool is_above_zero() const noexcept { return count_ >= 8 && mean_ > 2.0 * standard_error(); }

private:
    double keep_;
    std::int64_t count_ = 0;
    double mean_ = 0.0, spread_ = 0.0;
    double squared_shares_ = 1.0;  // of values in the mean: 1 / how many it is as good as
};

/// Estimates the landscape from what ranks' gradients and parameters are like, step after step.
///
/// L is the mean curvature in the directions in which ranks differ: it says how far off gradients
/// are that are taken at ranks' own parameters. The largest curvature, which bounds all, may be
/// several times that, and the critical distance as much smaller. It is taken from differences
/// between ranks at one step, since noise has no part in these: a gradient's comes after the
/// parameters at which it is taken. From one step to the next it would have: parameters move by
/// the noise of the gradient before, of which 2 rate L sigma^2 / n remains in ||change of g||^2
/// less the noise of both gradients, beside the (rate L)^2 ||g||^2 that is sought; by its ratio to
/// ||change of x||^2 plain SGD at rates 0.04 and 0.004 has an L of 12 and 35 where it is 3.
///   math    of n gradients at nearly the same parameters: sigma^2 = n / (n - 1) (mean of ||g_i||^2
///           - ||mean g||^2); ||grad f||^2 = ||mean g||^2 - sigma^2 / n; with D the mean of <g_i -
///           mean g, x_i - mean x> and Xi the distance, L is the mean of D / Xi, of which all steps
///           have equal noise, over that of Xi. All are running means of what may be negative, and
///           no step is left out. L is unknown while its numerator is less than two standard errors
///           above 0: where noise hides the curvature, or ranks do not differ
///   shape   ranks' data are alike: where they are not, ranks are drawn towards minima of their
///           own, and L comes out too small, or unknown
class landscape_estimate {
public:
    /// What each new step leaves of the means before it.
    explicit landscape_estimate(double keep = 0.99) noexcept
        : noise_(keep), squared_gradient_(keep), curvature_(keep), distance_(keep) {}

    /// The mean over ranks of ||g_i||^2, and ||mean g||^2.
    void see_gradients(double mean_of_squares, double square_of_mean, int ranks) noexcept;

    /// The means over ranks of <g_i - mean g, x_i - mean x> and of ||x_i - mean x||^2, with x_i
    /// where g_i was taken.
    void see_differences(double gradients_along, double squared_distance) noexcept;

    /// Whether there is noise, and curvature above it.
    bool is_known() const noexcept { return noise_.count() > 0 && curvature_.is_above_zero(); }
    /// What is known so far; smoothness is not a number where is_known() is false.
    landscape known() const noexcept;

private:
    detail::running_mean noise_, squared_gradient_, curvature_, distance_;
};

}  // namespace sotto::detail

#ifndef SOTTO_SEPARATE_COMPILATION
#include "sotto/strategies/detail/gossip/critical_distance.ipp"
#endif
