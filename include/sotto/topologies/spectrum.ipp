#pragma once

#include "sotto/topologies/spectrum.hpp"

#include <mutex>
#include <numeric>

#include "sotto/core/config.hpp"
#include "sotto/core/random.hpp"

namespace sotto::detail::topologies {

/// Computes y = W x, or y = W^T x.
SOTTO_DECL void multiply(const sotto::topologies::mixing_matrix& by, std::span<const double> x,
                         std::span<double> y, bool transposed) {
    for (int rank = 0; rank < by.size(); ++rank) {
        const auto i = static_cast<std::size_t>(rank);
        double sum = (transposed ? by.kept_share(rank) : by.own_weight(rank)) * x[i];
        for (const neighbour& n : transposed ? by.out_of(rank) : by.into(rank))
            sum += n.weight * x[static_cast<std::size_t>(n.rank)];
        y[i] = sum;
    }
}

SOTTO_DECL void subtract_mean(std::span<double> x) {
    const double mean = std::accumulate(x.begin(), x.end(), 0.0) / static_cast<double>(x.size());
    for (double& value : x) value -= mean;
}

SOTTO_DECL double length_of(std::span<const double> x) {
    return std::sqrt(std::inner_product(x.begin(), x.end(), x.begin(), 0.0));
}

/// Computes x = W x, or x = W^T x, for differences: x has mean 0 before and after. If less than
/// 1e-12 of their length is left, that is rounding error and x becomes 0. A product that gives all
/// ranks the mean thus has singular value 0.
SOTTO_DECL void mix_differences(const sotto::topologies::mixing_matrix& by, std::span<double> x,
                                std::span<double> between, bool transposed) {
    const double before = length_of(x);
    multiply(by, x, between, transposed);
    subtract_mean(between);
    const bool is_rounding = length_of(between) < 1e-12 * before;
    for (std::size_t i = 0; i < x.size(); ++i) x[i] = is_rounding ? 0.0 : between[i];
}

/// Returns the largest eigenvalue of a symmetric tridiagonal matrix.
///   math    bisection: the number of negative pivots of T - x I is the number of eigenvalues below
///           x
SOTTO_DECL double largest_eigenvalue(std::span<const double> diagonal,
                                     std::span<const double> beside) {
    const auto reach = [&](std::size_t i) {
        return (i > 0 ? std::abs(beside[i - 1]) : 0.0) +
               (i + 1 < diagonal.size() ? std::abs(beside[i]) : 0.0);
    };
    double low = diagonal[0], high = diagonal[0];
    for (std::size_t i = 0; i < diagonal.size(); ++i) {
        low = (std::max)(low, diagonal[i]);  // never above the largest eigenvalue
        high = (std::max)(high, diagonal[i] + reach(i));
    }
    for (int halving = 0; halving < 100 && low < high; ++halving) {
        const double x = 0.5 * (low + high);
        if (x == low || x == high) break;
        bool all_below = true;
        double pivot = 1.0;
        for (std::size_t i = 0; i < diagonal.size() && all_below; ++i) {
            pivot = diagonal[i] - x - (i > 0 ? beside[i - 1] * beside[i - 1] / pivot : 0.0);
            all_below = pivot < 0.0;
        }
        (all_below ? high : low) = x;
    }
    return 0.5 * (low + high);
}

/// Returns the largest eigenvalue, on vectors of mean 0, of a symmetric operator. `apply(x, y)`
/// computes y = A x.
///   math    Lanczos; each vector is orthogonalised against all before it. Exact after as many
///           steps as there are distinct eigenvalues
///   cost    m products and m^2 n operations for m steps
///   source  Lanczos 1950
template <class Apply>
double largest_on_differences(int size, Apply apply) {
    const auto n = static_cast<std::size_t>(size);
    std::vector<std::vector<double>> basis;
    std::vector<double> diagonal, beside, next(n);
    random_stream random(1);
    std::vector<double> x(n);
    for (double& value : x) value = random.uniform(-1.0f, 1.0f);
    double found = 0.0;
    for (std::size_t step = 0; step + 1 < n; ++step) {
        for (int again = 0; again < 2; ++again) {  // one pass leaves rounding errors
            subtract_mean(x);
            for (const auto& b : basis) {
                const double along = std::inner_product(x.begin(), x.end(), b.begin(), 0.0);
                for (std::size_t i = 0; i < n; ++i) x[i] -= along * b[i];
            }
        }
        const double length = length_of(x);
        if (step > 0 && length < 1e-12) break;
        if (step > 0) beside.push_back(length);
        for (double& value : x) value /= length;
        basis.push_back(x);
        apply(std::span<const double>(basis.back()), std::span<double>(next));
        diagonal.push_back(std::inner_product(next.begin(), next.end(), basis.back().begin(), 0.0));
        x = next;
        if (step % 8 == 7) {
            const double now = largest_eigenvalue(diagonal, beside);
            if (std::abs(now - found) <= 1e-14 * std::abs(now)) return now;
            found = now;
        }
    }
    return diagonal.empty() ? 0.0 : largest_eigenvalue(diagonal, beside);
}

}  // namespace sotto::detail::topologies

namespace sotto::topologies {

SOTTO_DECL double second_singular_value(std::span<const mixing_matrix> rounds) {
    if (rounds.empty()) return 1.0;
    const int size = rounds.front().size();
    std::vector<double> between(static_cast<std::size_t>(size));
    const auto there_and_back = [&](std::span<const double> x, std::span<double> y) {
        std::copy(x.begin(), x.end(), y.begin());
        for (const mixing_matrix& w : rounds)
            detail::topologies::mix_differences(w, y, between, false);
        for (std::size_t i = rounds.size(); i-- > 0;)
            detail::topologies::mix_differences(rounds[i], y, between, true);
    };
    const double square = detail::topologies::largest_on_differences(size, there_and_back);
    return std::sqrt((std::max)(square, 0.0));
}

SOTTO_DECL double second_singular_value(const mixing_matrix& round) {
    return second_singular_value(std::span(&round, 1));
}

}  // namespace sotto::topologies

namespace sotto::detail::topologies {

SOTTO_DECL double last_singular_value(std::vector<sotto::topologies::mixing_matrix> rounds) {
    static std::mutex mutex;
    static std::vector<sotto::topologies::mixing_matrix> last;
    static double value = 1.0;  // for an empty product
    const std::lock_guard lock(mutex);
    if (last != rounds) {
        value = second_singular_value(rounds);
        last = std::move(rounds);
    }
    return value;
}

}  // namespace sotto::detail::topologies

namespace sotto::topologies {

SOTTO_DECL double smallest_eigenvalue(const sotto::topologies::mixing_matrix& round) {
    if (round.size() == 1) return 1.0;
    return 1.0 - detail::topologies::largest_on_differences(
                     round.size(), [&](std::span<const double> x, std::span<double> y) {
                         detail::topologies::multiply(round, x, y, false);
                         for (std::size_t i = 0; i < x.size(); ++i) y[i] = x[i] - y[i];
                     });
}

}  // namespace sotto::topologies

namespace sotto::detail::topologies {

SOTTO_DECL double mixing_summary::p() const noexcept {
    const double p = 1.0 - mean_contraction * mean_contraction;
    return p < 0.0 ? 0.0 : p;  // negative only by rounding
}

}  // namespace sotto::detail::topologies
