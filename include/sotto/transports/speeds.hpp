#pragma once

#include <functional>

#include "sotto/core/random.hpp"

/// How much longer than on a machine of the stated speed a piece of work takes, on a simulated
/// network: drawn anew for each piece, from a stream that belongs to the rank.
namespace sotto::speeds {

/// `draw(rank, stream)`: a factor, finite and at least 0.
using slowness = std::function<double(int rank, random_stream& stream)>;

/// Throws invalid_option, which names the option, its value and what is possible, if it or what it
/// is made of is one of those below with options that give no such factors.
void require_possible(const slowness& what, int ranks);

/// Every piece takes as long as it should.
struct constant {
    double operator()(int, random_stream&) const noexcept { return 1.0; }
};

/// Any factor between two is as likely.
struct uniform {
    double low = 0.5, high = 1.5;  // factors

    void require_possible(int) const;
    double operator()(int, random_stream& stream) const noexcept;
};

/// A part that always takes as long, and one as that of a service that may end at any moment.
///   math    fixed + (1 - fixed) E, E exponential with mean 1: the mean is 1
struct exponential {
    double fixed = 0.5;  // the part that is always the same

    void require_possible(int) const;
    double operator()(int, random_stream& stream) const noexcept;
};

/// Most pieces take as long as they should, few take very much longer: stragglers.
///   math    Pareto: P(factor > x) = x^-shape for x > 1. The mean is shape / (shape - 1), infinite
///           for shape <= 1
struct heavy_tailed {
    double shape = 2.5;   // the smaller, the more pieces take long
    double most = 100.0;  // no factor is above it

    void require_possible(int) const;
    double operator()(int, random_stream& stream) const noexcept;
};

/// One rank is slower than all others by a factor.
struct one_slow {
    int rank = 0;                  // that is slow
    double factor = 5.0;           // by which it is slower
    slowness others = constant{};  // how slow all are besides

    void require_possible(int ranks) const;
    double operator()(int of, random_stream& stream) const;
};

/// One draw for each rank, which it keeps.
struct of_each_rank {
    slowness drawn = uniform{};  // from which each rank's factor is drawn

    void require_possible(int ranks) const { speeds::require_possible(drawn, ranks); }
    double operator()(int rank, random_stream& stream) const;
};

void require_possible(const slowness& what, int ranks);

}  // namespace sotto::speeds

#ifndef SOTTO_SEPARATE_COMPILATION
#include "sotto/transports/speeds.ipp"
#endif
