#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>
#include <type_traits>

#include "sotto/core/config.hpp"
#include "sotto/kernels/detail/simd/unfused.hpp"
#include "sotto/kernels/detail/simd/uninitialised.hpp"
#include "sotto/kernels/detail/top_k/magnitude.hpp"
#include "sotto/kernels/detail/top_k/rank_magnitude.hpp"
#include "sotto/kernels/detail/top_k/sample.hpp"
#include "sotto/kernels/detail/top_k/sources.hpp"
#include "sotto/kernels/instruction_set.hpp"

namespace sotto::detail::kernels::inline SOTTO_UNIT {

/// A source's values from `first` on, at most 2^32.
template <class Source>
struct selected_part {
    Source source;
    std::size_t size = 0;
    std::size_t first = 0;
};

inline selected_part<plain_source> whole(std::span<const float> values) noexcept {
    return {{values.data()}, values.size()};
}

/// Thresholds estimated from a sample.
struct probable_thresholds {
    std::uint32_t least = 0;                    // hardly any of the k largest is below this
    std::uint32_t claim_from = magnitude_bits;  // hardly any other is above this
    std::size_t ties = unlimited;               // sufficient number of values equal to `least`

    static constexpr std::size_t unlimited = ~std::size_t{0};
};

/// Estimates the magnitude of the k-th largest of n values.
class threshold_sampler {
public:
    void reserve(std::size_t n) {
        const std::size_t most = (std::min)(n, sample_max);
        values_.reserve(2 * most + lanes_max);  // and for values extracted from a sample
        ranker_.reserve(most);
    }

    /// Number of values in a sample.
    static std::size_t sample_size(std::size_t n) noexcept {
        return std::clamp<std::size_t>(n / 64, sample_min, sample_max);
    }

    /// Estimates from a sample of all parts. About `factor` times the wanted number of values, and
    /// some more, will reach `least`.
    template <class Source>
    probable_thresholds estimate(std::span<const selected_part<Source>> parts, std::size_t n,
                                 std::size_t k, double factor, std::uint64_t attempt) {
        return judge(draw(parts, n, sample_size(n), attempt), n, k, factor, Source::claims);
    }

    /// Estimates from a sample in room().
    probable_thresholds judge(std::span<const float> sample, std::size_t n, std::size_t k,
                              double factor, bool claims) {
        probable_thresholds found;
        if (sample.empty()) return found;
        const auto sampled = static_cast<double>(sample.size());
        const double share = static_cast<double>(k) / static_cast<double>(n);
        const double expected = share * sampled;
        const double deviation = std::sqrt(expected * (1.0 - share));
        if (const double rank = factor * (expected + deviations * deviation + 2.0); rank < sampled)
            found.least = magnitude_at(sample, rank);
        limit_ties(found, sample, n, k);
        // A late claim and an undone claim each access two distant lines, but only late claims can
        // be prefetched. At half a deviation most corrections are late claims.
        if (const double rank = expected - 0.5 * deviation - 1.0; claims && rank >= 1.0)
            found.claim_from = magnitude_at(sample, rank);
        return found;
    }

    /// True if a small sample confirms that a guess finds enough values, and not far too many.
    template <class Source>
    bool is_plausible(const probable_thresholds& guess,
                      std::span<const selected_part<Source>> parts, std::size_t n, std::size_t k) {
        const std::span<const float> sample = draw(parts, n, sample_min, 0);
        const double expected =
            static_cast<double>(k) / static_cast<double>(n) * static_cast<double>(sample.size());
        const double margin = deviations * std::sqrt(expected) + 2.0;
        const range_counts counts = compare(sample, guess.least);
        const auto found = static_cast<double>(counts.above + counts.inside);
        return found >= expected - margin && found <= 1.25 * expected + margin;
    }

    float* room() noexcept { return values_.data(); }

private:
    static constexpr std::size_t sample_min = 4096, sample_max = 65536;
    static constexpr double deviations = 3.0;  // of the sampling error: one pass in 700 is repeated

    /// Draws about `wanted` values, from each part its share. A share below one line is carried to
    /// the next part.
    template <class Source>
    std::span<const float> draw(std::span<const selected_part<Source>> parts, std::size_t n,
                                std::size_t wanted, std::uint64_t attempt) {
        const double share = static_cast<double>(wanted) / static_cast<double>(n);
        double due = 0.0;
        std::size_t sampled = 0;
        for (const auto& part : parts) {
            due += share * static_cast<double>(part.size);
            if (part.size < sample_line) {
                if constexpr (std::is_same_v<Source, plain_source>) {
                    if (due < static_cast<double>(part.size)) continue;
                    std::copy_n(part.source.values + part.first, part.size, room() + sampled);
                    sampled += part.size;
                    due -= static_cast<double>(part.size);
                }
                continue;
            }
            const std::size_t lines =
                (std::min)(static_cast<std::size_t>(due) / sample_line, part.size / sample_line);
            if (lines == 0) continue;
            run_unfused<take_sample<Source>>(sotto::kernels::best_instruction_set(), part.source,
                                             part.first, part.size, lines, attempt,
                                             room() + sampled);
            sampled += lines * sample_line;
            due -= static_cast<double>(lines * sample_line);
        }
        return {room(), sampled};
    }

    std::uint32_t magnitude_at(std::span<const float> sample, double rank) {
        return ranker_.rank(sample, static_cast<std::size_t>(rank)).magnitude;
    }

    /// Returns the numbers of sample values above a magnitude and equal to it.
    range_counts compare(std::span<const float> sample, std::uint32_t magnitude) {
        return run_unfused<extract_range>(sotto::kernels::best_instruction_set(), sample.data(),
                                          sample.size(), magnitude_range{magnitude, magnitude},
                                          room() + sample.size());
    }

    /// If many values equal the threshold, as zeros often do, the first few of them suffice.
    void limit_ties(probable_thresholds& found, std::span<const float> sample, std::size_t n,
                    std::size_t k) {
        const range_counts counts = compare(sample, found.least);
        const auto above = static_cast<double>(counts.above);
        const auto equal = static_cast<double>(counts.inside);
        const auto sampled = static_cast<double>(sample.size());
        if (equal < 0.02 * sampled) return;
        const double share = above / sampled;
        const double error = (deviations + 1.0) * std::sqrt(share * (1.0 - share) / sampled);
        const auto lacking =
            static_cast<double>(k) - (std::max)(share - error, 0.0) * static_cast<double>(n);
        found.ties = static_cast<std::size_t>((std::max)(lacking, 0.0));
    }

    uninitialised<float> values_;
    magnitude_ranker ranker_;
};

}  // namespace sotto::detail::kernels::inline SOTTO_UNIT
