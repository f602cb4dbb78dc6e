#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

namespace sotto::kernels {

/// Memory that a selection works in; grows to what the largest call needed and is then reused.
struct top_k_scratch {
    std::vector<float> sample;
    std::vector<std::uint32_t> candidates;

    void reserve(std::int64_t n) {
        sample.reserve(static_cast<std::size_t>(n));
        if (candidates.size() < static_cast<std::size_t>(n))
            candidates.resize(static_cast<std::size_t>(n));
    }
};

namespace detail {

/// Descending by magnitude, of equals the lower index first: a total order, so that the k first are
/// unique.
struct by_magnitude {
    const float* values;
    bool operator()(std::uint32_t a, std::uint32_t b) const noexcept {
        const float x = std::abs(values[a]), y = std::abs(values[b]);
        return x > y || (x == y && a < b);
    }
};

/// Every index with a magnitude of at least the threshold, ascending, to the front of `found`,
/// which has room for all. Returns how many.
inline std::size_t collect(std::span<const float> values, float threshold,
                           std::span<std::uint32_t> found) {
    std::size_t count = 0;
    for (std::size_t i = 0; i < values.size(); ++i) {
        found[count] = static_cast<std::uint32_t>(i);
        count += std::abs(values[i]) >= threshold ? 1 : 0;
    }
    return count;
}

}  // namespace detail

/// The k entries of largest magnitude, exactly: their indices, ascending; of equal magnitudes the
/// lower index.
///   shape   values: n floats without NaN, n <= 2^32;  0 <= k <= n;  the result lives in `scratch`
///           until the next call
///   cost    one pass over the values after a sample of at most 16,384 set a threshold, then a
///           selection among the candidates; when the sample misleads, a selection among all: O(n)
///           on average for any input
inline std::span<const std::uint32_t> select_top_k(std::span<const float> values, std::int64_t k,
                                                   top_k_scratch& scratch) {
    const std::size_t n = values.size(), wanted = static_cast<std::size_t>(k);
    if (wanted == 0) return {};
    scratch.reserve(static_cast<std::int64_t>(n));
    float threshold = 0.0f;
    const std::size_t sample_size = std::min<std::size_t>(n / 8, 16384);
    // Odd multiples of the golden ratio visit all residues of any row length; the margin is four
    // standard deviations of the number of sampled values above the true threshold.
    const double expected =
        static_cast<double>(wanted) / static_cast<double>(n) * static_cast<double>(sample_size);
    const auto rank = static_cast<std::size_t>(expected + 4.0 * std::sqrt(expected) + 4.0);
    if (rank < sample_size / 4) {
        auto& sample = scratch.sample;
        sample.resize(sample_size);
        for (std::size_t i = 0; i < sample_size; ++i)
            sample[i] = std::abs(values[(i * 0x9E3779B97F4A7C15u >> 11) % n]);
        const auto nth = sample.begin() + static_cast<std::ptrdiff_t>(rank);
        std::nth_element(sample.begin(), nth, sample.end(), std::greater<>{});
        threshold = *nth;
    }
    const std::span<std::uint32_t> found(scratch.candidates);
    std::size_t count = detail::collect(values, threshold, found);
    if (count < wanted) count = detail::collect(values, 0.0f, found);
    if (count > wanted) {
        const auto kth = found.begin() + static_cast<std::ptrdiff_t>(wanted);
        const auto end = found.begin() + static_cast<std::ptrdiff_t>(count);
        std::nth_element(found.begin(), kth, end, detail::by_magnitude{values.data()});
        std::sort(found.begin(), kth);
    }
    return found.first(wanted);
}

}  // namespace sotto::kernels
