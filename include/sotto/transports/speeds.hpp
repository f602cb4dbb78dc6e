#pragma once

#include <functional>

#include "sotto/core/random.hpp"

/// Slowness of a simulated rank: how much longer a piece of work takes than on a machine of the
/// stated speed. It is drawn for each piece from the rank's own random stream.
namespace sotto::speeds {

/// `draw(rank, stream)` returns a factor, finite and at least 0.
using slowness = std::function<double(int rank, random_stream& stream)>;

/// Throws invalid_option if `what`, or a slowness inside it, is one of those below and its options
/// give invalid factors. The error names the option, its value and the allowed values.
void require_possible(const slowness& what, int ranks);

/// Every piece takes its nominal time.
struct constant {
    double operator()(int, random_stream&) const noexcept { return 1.0; }
};

/// All factors between two limits are equally likely.
struct uniform {
    double low = 0.5, high = 1.5;  // limits of the factor

    void require_possible(int) const;
    double operator()(int, random_stream& stream) const noexcept;
};

/// A constant part, and a part like that of a service that may end at any moment.
///   math    fixed + (1 - fixed) E, E exponential with mean 1: the mean is 1
struct exponential {
    double fixed = 0.5;  // constant part

    void require_possible(int) const;
    double operator()(int, random_stream& stream) const noexcept;
};

/// Most pieces take about their nominal time, few take very much longer: stragglers.
///   math    Pareto: P(factor > x) = x^-shape for x > 1. The mean is shape / (shape - 1), infinite
///           for shape <= 1
struct heavy_tailed {
    double shape = 2.5;   // the smaller, the more pieces take long
    double most = 100.0;  // maximum factor

    void require_possible(int) const;
    double operator()(int, random_stream& stream) const noexcept;
};

/// One rank is slower than all others by a factor.
struct one_slow {
    int rank = 0;                  // slow rank
    double factor = 5.0;           // its additional factor
    slowness others = constant{};  // slowness of all ranks

    void require_possible(int ranks) const;
    double operator()(int of, random_stream& stream) const;
};

/// One factor for each rank, which it keeps.
struct of_each_rank {
    slowness drawn = uniform{};  // distribution of the ranks' factors

    void require_possible(int ranks) const { speeds::require_possible(drawn, ranks); }
    double operator()(int rank, random_stream& stream) const;
};

void require_possible(const slowness& what, int ranks);

}  // namespace sotto::speeds

#ifndef SOTTO_SEPARATE_COMPILATION
#include "sotto/transports/speeds.ipp"
#endif
