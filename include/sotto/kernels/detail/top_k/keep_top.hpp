#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>

#include "sotto/core/config.hpp"
#include "sotto/kernels/detail/top_k/collect.hpp"
#include "sotto/kernels/instruction_set.hpp"
#include "sotto/kernels/detail/top_k/magnitude.hpp"
#include "sotto/kernels/detail/simd/operations.hpp"
#include "sotto/kernels/detail/simd/vector.hpp"

namespace sotto::detail::kernels::inline SOTTO_UNIT {

/// Selects from the candidates [first, last): magnitudes above the threshold, and the first `ties`
/// that are equal to it.
struct keep_request {
    std::size_t first = 0;
    std::size_t last = 0;
    std::uint32_t threshold = 0;
    std::size_t ties = 0;
    bool settle = false;  // claims kept candidates that the pass did not claim
    std::uint32_t claimed_above = magnitude_bits;
    candidates out;      // receives kept candidates; may be their own memory
    std::size_t to = 0;  // first place to write; at most `first` if in place
};

struct keep_progress {
    std::size_t to = 0;    // end of the kept candidates
    std::size_t ties = 0;  // ties left
    bool nan = false;      // true if a kept value is NaN
};

/// Moves kept candidates to the front, in order. `Seconds`: with their second values.
template <class Source, bool Seconds>
struct keep_top {
    template <instruction_set Set>
    SOTTO_INLINE static keep_progress run(const Source& source, const candidates& all,
                                          const keep_request& request) noexcept {
        using operation = operations<Set>;
        constexpr std::size_t lanes = operation::lanes;
        std::size_t ties = request.ties, to = request.to, i = request.first;
        words<lanes> largest{};
        const std::uint32_t above =
            request.threshold == magnitude_bits ? magnitude_bits : request.threshold + 1;
        for (; i + lanes <= request.last && to + lanes <= request.out.room; i += lanes) {
            words<lanes> places, values, seconds{};
            load(places, all.places + i);
            load(values, all.values + i);
            if constexpr (Seconds) load(seconds, all.seconds + i);
            const words<lanes> magnitudes = values & magnitude_bits;
            std::uint32_t kept = operation::reaching(magnitudes, request.threshold);
            if (const std::uint32_t more = operation::reaching(magnitudes, above);
                more != kept || above == request.threshold) [[unlikely]] {
                const std::uint32_t equal = above == request.threshold ? kept : kept & ~more;
                kept = (kept & ~equal) | first_bits(equal, ties);
            }
            largest = magnitudes > largest ? magnitudes : largest;
            if constexpr (Source::claims)
                if (request.settle) {
                    if (i + ahead + lanes <= request.last)
                        fetch_unclaimed<Set>(source, all, request, i + ahead);
                    const std::uint32_t early =
                        request.claimed_above == magnitude_bits
                            ? 0
                            : operation::reaching(magnitudes, request.claimed_above + 1);
                    std::uint32_t late = kept & ~early;
                    for (; late != 0; late &= late - 1)
                        source.claim(
                            all.places[i + static_cast<std::size_t>(std::countr_zero(late))]);
                }
            operation::keep(places, kept, request.out.places + to);
            operation::keep(values, kept, request.out.values + to);
            if constexpr (Seconds) operation::keep(seconds, kept, request.out.seconds + to);
            to += static_cast<std::size_t>(std::popcount(kept));
        }
        bool nan = false;
        for (std::size_t lane = 0; lane < lanes; ++lane) nan |= largest[lane] > infinity_bits;
        for (; i < request.last; ++i) {
            const std::uint32_t magnitude = magnitude_of(all.values[i]);
            if (magnitude < request.threshold) continue;
            if (magnitude == request.threshold) {
                if (ties == 0) continue;
                --ties;
            }
            nan |= magnitude > infinity_bits;
            if constexpr (Source::claims)
                if (request.settle && magnitude <= request.claimed_above)
                    source.claim(all.places[i]);
            request.out.places[to] = all.places[i];
            request.out.values[to] = all.values[i];
            if constexpr (Seconds) request.out.seconds[to] = all.seconds[i];
            ++to;
        }
        return {to, ties, nan};
    }

private:
    static constexpr std::size_t ahead = 128;

    /// Prefetches values that will be claimed, which are at arbitrary places.
    template <instruction_set Set>
    SOTTO_INLINE static void fetch_unclaimed(const Source& source, const candidates& all,
                                             const keep_request& request, std::size_t i) noexcept {
        using operation = operations<Set>;
        words<operation::lanes> magnitudes;
        load(magnitudes, all.values + i);
        magnitudes = magnitudes & magnitude_bits;
        std::uint32_t soon = operation::reaching(magnitudes, request.threshold);
        if (request.claimed_above < magnitude_bits)
            soon &= ~operation::reaching(magnitudes, request.claimed_above + 1);
        for (; soon != 0; soon &= soon - 1)
            source.fetch_left(all.places[i + static_cast<std::size_t>(std::countr_zero(soon))]);
    }

    /// Returns the lowest `count` set bits and subtracts their number from `count`.
    SOTTO_INLINE static std::uint32_t first_bits(std::uint32_t bits, std::size_t& count) noexcept {
        const auto set = static_cast<std::size_t>(std::popcount(bits));
        if (set <= count) {
            count -= set;
            return bits;
        }
        std::uint32_t rest = bits;
        for (; count > 0; --count) rest &= rest - 1;
        return bits & ~rest;
    }
};

}  // namespace sotto::detail::kernels::inline SOTTO_UNIT
