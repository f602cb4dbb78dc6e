#pragma once

#include <algorithm>
#include <bit>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>

#include "sotto/core/result.hpp"
#include "sotto/wire/bits.hpp"

namespace sotto::wire {

/// Gaps as a quotient by 2^shift in unary and a remainder in `shift` raw bits: the code for few
/// entries, since its only parameter is a number, and for indices without structure, where it is at
/// most 0.13 bits above the best.
///   math    k (shift + 1) + sum of floor(gap / 2^shift) bits; gaps sum to at most n - k
///   wire    6 bits shift (0..40), then per gap: quotient zeros, a one, the remainder
///   source  Rice and Plaunt 1971; Golomb 1966
struct rice_code {
    static constexpr int shift_max = 40;
    static constexpr int header_bits = 6;

    int shift = 0;
    std::int64_t bits = 0;  // all of them, exactly

    /// The cheapest shift for k >= 1 indices. The cost is convex in the shift (each halving of the
    /// gaps takes off no more quotients than the one before), so walking downhill from a guess ends
    /// at the least.
    ///   cost    one pass for each shift looked at, mostly three
    template <std::unsigned_integral Index>
    static rice_code of(std::span<const Index> indices) noexcept {
        const std::uint64_t mean = indices.back() / indices.size();
        const int highest = std::min(shift_max, std::numeric_limits<Index>::digits - 1);
        rice_code best = with(indices, std::max(0, static_cast<int>(std::bit_width(mean)) - 2));
        for (const int step : {1, -1}) {
            const int start = best.shift;
            while (best.shift + step >= 0 && best.shift + step <= highest) {
                const rice_code other = with(indices, best.shift + step);
                if (other.bits >= best.bits) break;
                best = other;
            }
            if (best.shift != start) break;
        }
        return best;
    }

    template <std::unsigned_integral Index>
    void write(std::span<const Index> indices, bit_writer& out) const {
        out.put(static_cast<std::uint64_t>(shift), header_bits);
        std::uint64_t next = 0;
        for (const std::uint64_t index : indices) {
            const std::uint64_t gap = index - next, quotient = gap >> shift;
            const std::uint64_t remainder = gap & ((std::uint64_t{1} << shift) - 1);
            if (const std::uint64_t all = quotient + 1 + static_cast<unsigned>(shift); all <= 56)
                [[likely]] {
                out.put((remainder << 1 | 1) << quotient, static_cast<int>(all));
            } else {
                out.put_zeros(quotient);
                out.put(remainder << 1 | 1, 1 + shift);
            }
            next = index + 1;
        }
    }

    /// Reads indices.size() indices below n.
    ///   errors  refuses a shift above 40 and an index of n or more
    template <std::unsigned_integral Index>
    static result<std::span<Index>> read(std::int64_t n, bit_reader& in,
                                         std::span<Index> indices) noexcept {
        const int shift = static_cast<int>(in.take(header_bits));
        if (shift > shift_max)
            return in.because("a Rice shift of at most 40", static_cast<unsigned>(shift));
        const auto limit = static_cast<std::uint64_t>(n);
        std::uint64_t next = 0;
        for (Index& index : indices) {
            in.refill();
            std::uint64_t quotient = 0;
            int zeros = std::countr_zero(in.peek());
            for (; zeros >= 56; zeros = std::countr_zero(in.peek())) {
                if (in.overrun() || quotient > limit)
                    return in.because("the end of a gap", quotient);
                quotient += 56;
                in.skip(56);
                in.refill();
            }
            quotient += static_cast<unsigned>(zeros);
            in.skip(zeros + 1);
            if (zeros + 1 + shift > 56) in.refill();
            if (quotient > limit >> shift)
                return in.because("an index below the tensor's size", quotient);
            next += (quotient << shift) + in.peek(shift);
            if (next >= limit) return in.because("an index below the tensor's size", next);
            in.skip(shift);
            index = static_cast<Index>(next++);
        }
        return indices;
    }

private:
    template <std::unsigned_integral Index>
    static rice_code with(std::span<const Index> indices, int shift) noexcept {
        std::uint64_t quotients = indices[0] >> shift;
        for (std::size_t i = 1; i < indices.size(); ++i)
            quotients += static_cast<Index>(indices[i] - indices[i - 1] - 1) >> shift;
        const auto k = static_cast<std::int64_t>(indices.size());
        return {shift, header_bits + k * (shift + 1) + static_cast<std::int64_t>(quotients)};
    }
};

}  // namespace sotto::wire
