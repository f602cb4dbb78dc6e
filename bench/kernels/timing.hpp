#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <limits>
#include <string>
#include <vector>

// Shared by the two libraries that kernels.py loads. Every function there returns seconds, or a NaN
// after an error.

namespace bench {

inline std::string last_error;

/// What a selection found; it lives until the next call.
struct answer {
    const std::uint32_t* indices;
    const float* values;
    std::int64_t count;
};

/// Seconds of one call of `body`: the median of `repeats`, each after `prepare`, which does not
/// count.
template <class Prepare, class Body>
double seconds_of(std::int64_t repeats, Prepare&& prepare, Body&& body) noexcept {
    using clock = std::chrono::steady_clock;
    try {
        std::vector<double> seconds(static_cast<std::size_t>(std::max<std::int64_t>(repeats, 1)));
        for (double& taken : seconds) {
            prepare();
            asm volatile("" ::: "memory");
            const auto start = clock::now();
            body();
            asm volatile("" ::: "memory");
            taken = std::chrono::duration<double>(clock::now() - start).count();
        }
        const auto middle = seconds.begin() + static_cast<std::ptrdiff_t>(seconds.size() / 2);
        std::nth_element(seconds.begin(), middle, seconds.end());
        return *middle;
    } catch (const std::exception& error) {
        last_error = error.what();
        return std::numeric_limits<double>::quiet_NaN();
    }
}

template <class Body>
double seconds_of(std::int64_t repeats, Body&& body) noexcept {
    return seconds_of(
        repeats, [] {}, body);
}

/// Keeps the compiler from leaving out what made this value.
template <class T>
void use(const T& value) noexcept {
    asm volatile("" : : "m"(value) : "memory");
}

}  // namespace bench
