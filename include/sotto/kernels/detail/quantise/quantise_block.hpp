#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "sotto/core/config.hpp"
#include "sotto/kernels/detail/quantise/code_packing.hpp"
#include "sotto/kernels/detail/quantise/counter_random.hpp"
#include "sotto/kernels/detail/simd/each_lane.hpp"
#include "sotto/kernels/instruction_set.hpp"
#include "sotto/kernels/detail/simd/vector.hpp"

namespace sotto::detail::kernels::inline SOTTO_UNIT {

/// The codes of Bits bits: -largest..largest, in steps of scale / largest.
template <int Bits>
struct code_range {
    static constexpr int largest = (1 << (Bits - 1)) - 1;
    static constexpr float step = 1.0f / largest;
    static_assert(step * largest == 1.0f);  // the scale itself decodes exactly
    /// Fraction bits to which a random number is added: together with code and sign they fill a
    /// word.
    static constexpr int fraction = 32 - Bits;
};

/// The bits of an infinite scale; those of NaN are larger.
inline constexpr std::uint32_t infinite_scale = 0x7f800000u;

/// Smaller scales encode as 0: they would leave the range of floats.
inline constexpr float least_scale = 0x1p-96f;

/// Returns the factor that maps values up to `scale` to at most largest * unit.
inline float code_factor(float scale, float largest, float unit) noexcept {
    if (scale < least_scale) return 0.0f;
    float factor = static_cast<float>(double{largest} / double{scale} * double{unit});
    // Below the exact quotient, so that rounding never exceeds the largest code.
    if (scale * factor > largest * unit)
        factor = std::bit_cast<float>(std::bit_cast<std::uint32_t>(factor) - 1);
    return factor;
}

/// Prefetches lines of x, and of the residual if there is one, this many values ahead into the
/// second-level cache. A cache of 1 MiB holds this block and the next if they have up to 2^16
/// values, or 2^15 with residuals. Lines of larger blocks may be evicted before use.
template <std::size_t Ahead, bool Feedback>
SOTTO_INLINE void fetch_values(const float* x, const float* residual) noexcept {
    __builtin_prefetch(x + Ahead, 0, 2);
    if constexpr (Feedback) __builtin_prefetch(residual + Ahead, 0, 2);
}

/// Returns the address of the residual's place i, or null without a residual.
template <bool Feedback, class Float>
SOTTO_INLINE Float* residual_at(Float* residual, std::size_t i) noexcept {
    return Feedback ? residual + i : nullptr;
}

/// Loads the values to quantise: x, or with error feedback x + residual.
template <bool Feedback, int Lanes>
SOTTO_INLINE void load_values(const float* x, const float* residual, std::size_t count,
                              floats<Lanes>& to) noexcept {
    load_some<Lanes>(to, x, count);
    if constexpr (Feedback) {
        floats<Lanes> kept;
        load_some<Lanes>(kept, residual, count);
        to = to + kept;
    }
}

/// The largest magnitude of a block, as bits. Compared as integers, bits have the order of
/// magnitudes, with infinity and then NaN above all others.
template <bool Feedback, int Lanes>
struct largest_of_block {
    static constexpr int lanes = Lanes;
    static constexpr bool feedback = Feedback;

    /// Up to four independent maxima, so that none waits for the previous one; a group may have
    /// fewer vectors.
    static constexpr std::size_t parts = std::min<std::size_t>(4, values_in_group / Lanes);

    integers<Lanes> largest[parts] = {};

    /// Adds Lanes, or `count`, values that begin at index `at` of a group.
    SOTTO_INLINE void take(const float* x, const float* residual, std::size_t count,
                           std::size_t at) noexcept {
        floats<Lanes> value;
        load_values<Feedback, Lanes>(x, residual, count, value);
        const integers<Lanes> magnitude = reinterpret_cast<integers<Lanes>>(value) & 0x7fffffff;
        integers<Lanes>& most = largest[at / Lanes % parts];
        most = magnitude > most ? magnitude : most;
    }

    /// Called at the end of a chunk of values.
    SOTTO_INLINE void end_chunk() noexcept {}

    SOTTO_INLINE std::uint32_t bits() const noexcept {
        integers<Lanes> all = largest[0];
        for (std::size_t j = 1; j < parts; ++j) all = largest[j] > all ? largest[j] : all;
        int most = 0;
        for (int lane = 0; lane < Lanes; ++lane) most = (std::max)(most, int{all[lane]});
        return static_cast<std::uint32_t>(most);
    }

    /// Returns the block's scale after all of it was added.
    SOTTO_INLINE std::uint32_t scale_bits(const float*, std::size_t) const noexcept {
        return bits();
    }
};

/// Values in a chunk, whose floats are summed before they are added to a double. A block may be
/// measured alone or during the encoding of the previous one. Both passes use the same chunks, so
/// sums have the same bits.
inline constexpr std::size_t values_in_chunk = 256 * values_in_group;

/// Adds all values of a block.
template <class Measure>
SOTTO_INLINE void measure_block(const float* x, const float* residual, std::size_t count,
                                Measure& to) noexcept {
    constexpr std::size_t lanes = Measure::lanes, group = values_in_group;
    constexpr bool feedback = Measure::feedback;
    for (std::size_t start = 0; start < count; start += values_in_chunk) {
        const std::size_t end = (std::min)(start + values_in_chunk, count);
        std::size_t i = start;
        for (; i + group <= end; i += group)
            for (std::size_t j = 0; j < group; j += lanes)
                to.take(x + i + j, residual_at<feedback>(residual, i + j), lanes, j);
        for (std::size_t j = 0; i + j < end; j += lanes)
            to.take(x + i + j, residual_at<feedback>(residual, i + j), end - i - j, j);
        to.end_chunk();
    }
}

/// The parameters of a block's codes.
struct block_code {
    float scale, factor;
    random_key key;
};

/// Computes the value that the receiver will decode.
template <int Bits, int Lanes>
SOTTO_INLINE void decode_lanes(const integers<Lanes>& codes, float scale,
                               floats<Lanes>& value) noexcept {
    SOTTO_UNFUSED_BODY
    value = __builtin_convertvector(codes, floats<Lanes>);
    if constexpr (Bits > 2) value = value * code_range<Bits>::step;
    value = value * scale;
}

/// Arguments of a call, for all blocks.
struct blocks_to_encode {
    const float* x;
    float* residual;
    std::size_t count, block;
    std::uint64_t seed, first;
    float* scales;
    std::uint8_t* codes;
};

/// Clips values to -most..most; most is positive. It compares bits. As signed integers, bits of
/// positive floats keep their order and all others are smaller. As unsigned integers, bits of
/// negative floats have the order of their magnitudes and all others are smaller.
template <instruction_set Set>
struct clip_lanes {
    static constexpr int lanes = lanes_of(Set);

    SOTTO_INLINE static void run(float most, floats<lanes>& values) noexcept {
        const std::uint32_t bits = std::bit_cast<std::uint32_t>(most), negative = bits | 1u << 31;
        const integers<lanes> high = integers<lanes>{} + static_cast<std::int32_t>(bits);
        const words<lanes> low = words<lanes>{} + negative;
        integers<lanes> upper = reinterpret_cast<integers<lanes>>(values);
        upper = upper > high ? high : upper;
        words<lanes> both = reinterpret_cast<words<lanes>>(upper);
        both = both > low ? low : both;
        values = reinterpret_cast<floats<lanes>>(both);
    }
};

#if defined(__x86_64__)
template <>
struct clip_lanes<instruction_set::avx512> {
    SOTTO_AVX512 static void run(float most, floats<16>& values) noexcept {
        constexpr int lesser_magnitude_with_first_sign = 2, rounding_as_set = 4;
        values = __builtin_ia32_rangeps512_mask(values, floats<16>{} + most,
                                                lesser_magnitude_with_first_sign, floats<16>{},
                                                all_of_16_lanes, rounding_as_set);
    }
};
#endif

/// Writes the codes of a block and, with feedback, the remainders to the residual. With clipping,
/// values beyond the scale count as the scale.
template <int Bits, bool Stochastic, bool Feedback, bool Clip>
struct block_encoder {
    using range = code_range<Bits>;
    /// Value of a step: in fixed point, or well above the smallest floats.
    static constexpr float unit =
        Stochastic ? static_cast<float>(std::uint32_t{1} << range::fraction) : 256.0f;
    /// True if a block is measured during the encoding of the previous one, which keeps memory
    /// busy. With a residual, or bytes rounded to nearest, the many streams make two separate
    /// passes faster.
    static constexpr bool measures_next = !Feedback && (Stochastic || Bits < 8);

    template <instruction_set Set>
    SOTTO_INLINE static void lanes(const block_code& how, const words<lanes_of(Set)>& random,
                                   const float* x, float* residual, std::size_t count,
                                   words<lanes_of(Set)>& packed) noexcept {
        SOTTO_UNFUSED_BODY
        constexpr int lanes = lanes_of(Set);
        floats<lanes> value;
        load_values<Feedback, lanes>(x, residual, count, value);
        floats<lanes> scaled = value;
        if constexpr (Clip) clip_lanes<Set>::run(how.scale, scaled);
        scaled = scaled * how.factor;
        integers<lanes> codes;
        if constexpr (Stochastic) {
            // The floor of value + random number.
            const words<lanes> point =
                reinterpret_cast<words<lanes>>(__builtin_convertvector(scaled, integers<lanes>));
            const words<lanes> sum = point + (random & ((1u << range::fraction) - 1));
            packed = codes_are_upper<Bits, Set> ? sum : sum >> range::fraction;
            codes = reinterpret_cast<integers<lanes>>(sum) >> range::fraction;
        } else {
            // The last bit of 1.5 * 2^23 units is worth one unit, so the addition rounds.
            scaled = scaled + 0x1.8p23f * unit;
            packed = reinterpret_cast<words<lanes>>(scaled);
            if constexpr (codes_are_upper<Bits, Set>)
                packed = packed << (32 - Bits);
            else if constexpr (Bits < 8)
                packed = packed & ((1u << Bits) - 1);
            codes = reinterpret_cast<integers<lanes>>(scaled) -
                    std::bit_cast<std::int32_t>(0x1.8p23f * unit);
        }
        if constexpr (Feedback) {
            floats<lanes> decoded;
            decode_lanes<Bits, lanes>(codes, how.scale, decoded);
            value = value - decoded;
            store_some<lanes>(value, residual, count);
        }
    }

    /// Encodes whole groups from `i` up to `end`. Also measures the next block, or otherwise
    /// prefetches its lines, to keep memory busy.
    template <instruction_set Set, bool Measures, class Measure>
    SOTTO_INLINE static std::size_t groups(const block_code& how, std::uint64_t index,
                                           const float* x, float* residual, std::size_t i,
                                           std::size_t end, std::size_t next, std::uint8_t* to,
                                           Measure& measured) noexcept {
        constexpr std::size_t group = values_in_group, lanes = lanes_of(Set);
        // A measured block is read in this step, so it is prefetched 8 KiB ahead. Otherwise it is
        // read after this block, and the line at the same place is early enough.
        constexpr std::size_t ahead = Measures ? 2048 : 0;
        random_groups<lanes> numbers(how.key, index + i);
        for (; i + group <= end; i += group) {
            words<lanes> random[group / lanes], packed[group / lanes];
            if constexpr (Stochastic) numbers.next(random);
            for (std::size_t j = 0; j < group; j += lanes) {
                const std::size_t at = i + j;
                fetch_values<ahead, Feedback>(x + at + next,
                                              residual_at<Feedback>(residual, at + next));
                if constexpr (Measures)
                    measured.take(x + at + next, residual_at<Feedback>(residual, at + next), lanes,
                                  j);
                block_encoder::lanes<Set>(how, random[j / lanes], x + at,
                                          residual_at<Feedback>(residual, at), lanes,
                                          packed[j / lanes]);
            }
            // Codes of a byte are a fifth of the traffic; for fewer bits a prefetch gains nothing.
            if constexpr (Bits == 8) fetch_ahead(to + i);
            pack_codes<Bits, Set>(packed, to + i * Bits / 8);
        }
        return i;
    }

    template <instruction_set Set, bool Measures, class Measure>
    SOTTO_INLINE static void block(const block_code& how, std::uint64_t index, const float* x,
                                   float* residual, std::size_t count, std::size_t next,
                                   std::uint8_t* to, Measure& into) noexcept {
        constexpr std::size_t group = values_in_group, lanes = lanes_of(Set);
        Measure measured = into;  // a copy that no store can change
        std::size_t i = 0;
        while (i + group <= count) {
            const std::size_t end = (std::min)(i + values_in_chunk, count);
            i = groups<Set, Measures>(how, index, x, residual, i, end, next, to, measured);
            measured.end_chunk();
        }
        into = measured;
        if (i == count) return;
        words<lanes> random[group / lanes], packed[group / lanes] = {};
        random_groups<lanes>(how.key, index + i).next(random);
        for (std::size_t at = i; at < count; at += lanes)
            block_encoder::lanes<Set>(how, random[(at - i) / lanes], x + at,
                                      residual_at<Feedback>(residual, at), count - at,
                                      packed[(at - i) / lanes]);
        std::uint8_t bytes[group * Bits / 8];
        pack_codes<Bits, Set>(packed, bytes);
        std::memcpy(to + i * Bits / 8, bytes, ((count - i) * Bits + 7) / 8);
    }

    /// Encodes the block that begins at `start` with the scale of these bits. A block that is not
    /// finite gets codes 0. Also measures the next block if it is complete and this one is finite,
    /// and returns true if so.
    template <instruction_set Set, class Measure>
    SOTTO_INLINE static bool with_scale(const blocks_to_encode& all, std::size_t start,
                                        std::size_t count, std::uint32_t bits,
                                        Measure& next) noexcept {
        // Compares bits, which keeps NaN also under -ffast-math.
        const bool is_sent = bits >= std::bit_cast<std::uint32_t>(least_scale);
        const float scale = is_sent ? std::bit_cast<float>(bits) : 0.0f;
        all.scales[start / all.block] = scale;
        float* residual = residual_at<Feedback>(all.residual, start);
        std::uint8_t* to = all.codes + start / 8 * Bits;
        if (bits >= infinite_scale) {
            std::fill_n(to, (count * Bits + 7) / 8, std::uint8_t{0});
            if (Feedback) std::fill_n(residual, count, std::bit_cast<float>(0x7fc00000u));
            return false;
        }
        const std::uint64_t index = all.first + start;
        const block_code how{scale, code_factor(scale, range::largest, unit),
                             key_of_counters(all.seed, index / 2)};
        const float* x = all.x + start;
        if constexpr (measures_next)
            if (all.count - start >= 2 * all.block) {
                block<Set, true>(how, index, x, residual, count, all.block, to, next);
                return true;
            }
        block<Set, false>(how, index, x, residual, count, all.block, to, next);
        return false;
    }

    /// Encodes all blocks. Measures begin as copies of `empty`.
    template <instruction_set Set, class Measure>
    SOTTO_INLINE static void blocks(const blocks_to_encode& all, const Measure& empty) noexcept {
        bool is_measured = false;
        Measure next = empty;
        for (std::size_t start = 0; start < all.count; start += all.block) {
            const std::size_t count = (std::min)(all.block, all.count - start);
            const float* x = all.x + start;
            Measure measured = is_measured ? next : empty;
            if (!is_measured)
                measure_block(x, residual_at<Feedback>(all.residual, start), count, measured);
            next = empty;
            is_measured = with_scale<Set>(all, start, count, measured.scale_bits(x, count), next);
        }
    }
};

template <int Bits, bool Stochastic, bool Feedback>
struct quantise_blocks {
    template <instruction_set Set>
    SOTTO_INLINE static void run(const blocks_to_encode& all) noexcept {
        block_encoder<Bits, Stochastic, Feedback, false>::template blocks<Set>(
            all, largest_of_block<Feedback, lanes_of(Set)>{});
    }
};

}  // namespace sotto::detail::kernels::inline SOTTO_UNIT
