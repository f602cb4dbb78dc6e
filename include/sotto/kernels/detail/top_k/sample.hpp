#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "sotto/core/config.hpp"
#include "sotto/kernels/instruction_set.hpp"
#include "sotto/kernels/detail/simd/vector.hpp"

namespace sotto::detail::kernels::inline SOTTO_UNIT {

/// Values in a line of memory, which costs as much to read as a single value.
constexpr std::size_t sample_line = 16;

/// Returns the place of line `line` of a sample of `lines` lines from n values. It is random within
/// the line-th of as many equal parts, so the sample has no period that values could match. Another
/// `attempt` has other places.
///   shape   1 <= lines <= n / 16, line < lines, n <= 2^32
SOTTO_INLINE std::size_t sample_place(std::size_t n, std::size_t lines, std::size_t line,
                                      std::uint64_t attempt = 0) noexcept {
    const std::uint64_t share = n / sample_line / lines;  // lines of a part, at least 1
    std::uint64_t random = (line + 1 + (attempt << 32)) * 0x9E3779B97F4A7C15u;
    random ^= random >> 29;
    random *= 0xBF58476D1CE4E5B9u;
    const std::uint64_t part = static_cast<std::uint64_t>(line) * (n / sample_line) / lines;
    return static_cast<std::size_t>((part + ((random >> 32) * share >> 32)) * sample_line);
}

/// Copies `lines` lines of the n values of a source from `first` on to `to`. Writes nothing to the
/// source.
template <class Source>
struct take_sample {
    template <instruction_set Set>
    SOTTO_INLINE static void run(const Source& source, std::size_t first, std::size_t n,
                                 std::size_t lines, std::uint64_t attempt, float* to) noexcept {
        constexpr std::size_t lanes = lanes_of(Set), ahead = 12;
        for (std::size_t line = 0; line < (std::min)(lines, ahead); ++line)
            fetch_both(source, first + sample_place(n, lines, line, attempt));
        for (std::size_t line = 0; line < lines; ++line, to += sample_line) {
            if (line + ahead < lines)
                fetch_both(source, first + sample_place(n, lines, line + ahead, attempt));
            const std::size_t place = first + sample_place(n, lines, line, attempt);
            for (std::size_t i = 0; i < sample_line; i += lanes) {
                typename Source::template lanes_type<lanes> values;
                source.template compute<lanes>(place + i, values);
                store(source.template values_of<lanes>(values), to + i);
            }
        }
    }

private:
    /// An array may begin in the middle of a memory line.
    SOTTO_INLINE static void fetch_both(const Source& source, std::size_t place) noexcept {
        source.fetch(place);
        source.fetch(place + sample_line - 1);
    }
};

}  // namespace sotto::detail::kernels::inline SOTTO_UNIT
