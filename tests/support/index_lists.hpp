#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "sotto/core/random.hpp"

namespace sotto::testing {

using index_list = std::vector<std::uint32_t>;

/// log2 of the number of ways to choose k of n: the bits that no code of random indices beats on
/// average.
inline double log2_choose(std::int64_t n, std::int64_t k) {
    const auto log_factorial = [](std::int64_t x) {
        return std::lgamma(static_cast<double>(x) + 1.0);
    };
    return (log_factorial(n) - log_factorial(k) - log_factorial(n - k)) / std::log(2.0);
}

/// Indices whose gaps gap(random) gives, until there are k or n is reached.
template <class Gap>
index_list indices_with(std::uint64_t n, std::size_t k, std::uint64_t seed, Gap gap) {
    random_stream random(seed);
    index_list indices;
    for (std::uint64_t next = 0; indices.size() < k; ++next) {
        next += gap(random);
        if (next >= n) break;
        indices.push_back(static_cast<std::uint32_t>(next));
    }
    return indices;
}

/// Elements left out before the next entry if each is one with this probability.
inline std::uint64_t geometric(random_stream& random, double density) {
    const double uniform = (static_cast<double>(random()) + 0.5) * 0x1p-32;
    return static_cast<std::uint64_t>(std::log(uniform) / std::log1p(-density));
}

/// About k random indices of n, at most k; of nine tenths of n at most.
inline index_list random_indices(std::uint64_t n, std::size_t k, std::uint64_t seed) {
    const double density = std::min(0.9, static_cast<double>(k) / static_cast<double>(n));
    return indices_with(n, k, seed,
                        [=](random_stream& random) { return geometric(random, density); });
}

/// Runs of about ten neighbours, far apart: nine gaps in ten are 0.
inline index_list runs_of_indices(std::uint64_t n, std::size_t k, std::uint64_t seed) {
    const double density = std::min(0.9, static_cast<double>(k) / static_cast<double>(n) / 10);
    return indices_with(n, k, seed, [=](random_stream& random) {
        return random.below(10) < 9 ? 0 : geometric(random, density);
    });
}

/// Stretches of 50 to 250 entries whose densities lie up to 16 times above or below the average.
inline index_list bursts_of_indices(std::uint64_t n, std::size_t k, std::uint64_t seed) {
    const double average = static_cast<double>(k) / static_cast<double>(n);
    double density = average;
    std::uint64_t left = 0;
    return indices_with(n, k, seed, [=](random_stream& random) mutable {
        if (left-- == 0) {
            left = 50 + random.below(200);
            density = std::min(0.9, average * std::exp2(static_cast<double>(random.below(9)) - 4));
        }
        return geometric(random, density);
    });
}

/// Pairs at one channel of rows of 16: every second gap is 15.
inline index_list channels_of_indices(std::uint64_t n, std::size_t k, std::uint64_t seed) {
    const double rows_density = std::min(0.9, 8 * static_cast<double>(k) / static_cast<double>(n));
    bool second = false;
    return indices_with(n, k, seed, [=](random_stream& random) mutable {
        second = !second;
        return second ? 16 * geometric(random, rows_density) + 15 : std::uint64_t{15};
    });
}

/// Random gaps, each rounded down to the lowest of its size class: the law that classes serve
/// worst.
inline index_list rounded_down_indices(std::uint64_t n, std::size_t k, std::uint64_t seed,
                                       int fine) {
    const double density = static_cast<double>(k) / static_cast<double>(n);
    return indices_with(n, k, seed, [=](random_stream& random) {
        const std::uint64_t gap = geometric(random, density);
        int width = 0;
        while (gap >> width >= std::uint64_t{2} << fine) ++width;
        return gap >> width << width;
    });
}

}  // namespace sotto::testing
