#pragma once

#include <cmath>
#include <functional>

#include "sotto/core/random.hpp"

/// How much longer than on a machine of the stated speed a piece of work takes, on a simulated
/// network: drawn anew for each piece, from a stream that belongs to the rank.
namespace sotto::speeds {

/// `draw(rank, stream)`: a factor above 0.
using slowness = std::function<double(int rank, random_stream& stream)>;

/// Every piece takes as long as it should.
struct constant {
    double operator()(int, random_stream&) const noexcept { return 1.0; }
};

/// Any factor between two is as likely.
struct uniform {
    double low = 0.5, high = 1.5;

    double operator()(int, random_stream& stream) const noexcept {
        return low + (high - low) * static_cast<double>(stream.uniform());
    }
};

/// A part that always takes as long, and one as that of a service that may end at any moment.
///   math    fixed + (1 - fixed) E, E exponential with mean 1: the mean is 1
struct exponential {
    double fixed = 0.5;

    double operator()(int, random_stream& stream) const noexcept {
        const double u = static_cast<double>(stream.uniform());
        return fixed + (1.0 - fixed) * -std::log1p(-u);
    }
};

/// Most pieces take as long as they should, few take very much longer: stragglers.
///   math    Pareto: P(factor > x) = x^-shape for x > 1. The mean is shape / (shape - 1), infinite
///           for shape <= 1
struct heavy_tailed {
    double shape = 2.5;
    double most = 100.0;  // no factor is above it

    double operator()(int, random_stream& stream) const noexcept {
        const double u = static_cast<double>(stream.uniform());
        return std::fmin(most, std::pow(1.0 - u, -1.0 / shape));
    }
};

/// One rank is slower than all others by a factor.
struct one_slow {
    int rank = 0;
    double factor = 5.0;
    slowness others = constant{};

    double operator()(int of, random_stream& stream) const {
        return others(of, stream) * (of == rank ? factor : 1.0);
    }
};

/// One draw for each rank, which it keeps.
struct of_each_rank {
    slowness drawn = uniform{};

    double operator()(int rank, random_stream& stream) const {
        random_stream own = stream.split("speed of a rank");
        return drawn(rank, own);
    }
};

}  // namespace sotto::speeds
