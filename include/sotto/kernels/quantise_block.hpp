#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "sotto/core/config.hpp"
#include "sotto/kernels/code_packing.hpp"
#include "sotto/kernels/counter_random.hpp"
#include "sotto/kernels/instruction_set.hpp"
#include "sotto/kernels/vector.hpp"

namespace sotto::kernels::inline SOTTO_UNIT::detail {

/// The codes of Bits bits: -largest..largest, of which a step is 1 / largest of the scale.
template <int Bits>
struct code_range {
    static constexpr int largest = (1 << (Bits - 1)) - 1;
    static constexpr float step = 1.0f / largest;
    static_assert(step * largest == 1.0f);  // the scale itself comes back exactly
    /// Bits behind the point with which a random number is added: with them, code and sign fill a
    /// word.
    static constexpr int fraction = 32 - Bits;
};

/// The bits of an infinite scale; those of NaN are above.
inline constexpr std::uint32_t infinite_scale = 0x7f800000u;

/// Below this no value is sent: what follows would leave the range of floats.
inline constexpr float least_scale = 0x1p-96f;

/// What values are multiplied by, so that those up to `scale` come to at most largest * unit.
inline float code_factor(float scale, float largest, float unit) noexcept {
    if (scale < least_scale) return 0.0f;
    float factor = static_cast<float>(double{largest} / double{scale} * double{unit});
    // Below the exact quotient rather than above, so that no rounding goes beyond the largest.
    if (scale * factor > largest * unit)
        factor = std::bit_cast<float>(std::bit_cast<std::uint32_t>(factor) - 1);
    return factor;
}

/// How far ahead of its use memory is asked for.
inline constexpr std::size_t values_ahead = 256;

/// The residual's place i, where there is a residual.
template <bool Feedback, class Float>
SOTTO_INLINE Float* residual_at(Float* residual, std::size_t i) noexcept {
    return Feedback ? residual + i : nullptr;
}

/// What is quantised: x, or with error feedback x + residual.
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

/// most = max(most, bits of the magnitudes): as numbers they have the order of magnitudes, with
/// infinity and then NaN above all others.
template <bool Feedback, int Lanes>
SOTTO_INLINE void take_largest(const float* x, const float* residual, std::size_t count,
                               integers<Lanes>& most) noexcept {
    floats<Lanes> value;
    load_values<Feedback, Lanes>(x, residual, count, value);
    const integers<Lanes> magnitude = reinterpret_cast<integers<Lanes>>(value) & 0x7fffffff;
    most = magnitude > most ? magnitude : most;
}

template <bool Feedback, int Lanes>
SOTTO_INLINE std::uint32_t largest_magnitude(const float* x, const float* residual,
                                             std::size_t count) noexcept {
    constexpr std::size_t unrolled = 4;
    integers<Lanes> largest[unrolled] = {};
    std::size_t i = 0;
    for (; i + unrolled * Lanes <= count; i += unrolled * Lanes)
        for (std::size_t j = 0; j < unrolled; ++j) {
            const std::size_t at = i + j * Lanes;
            __builtin_prefetch(x + at + values_ahead);
            if constexpr (Feedback) __builtin_prefetch(residual + at + values_ahead, 1);
            take_largest<Feedback, Lanes>(x + at, residual_at<Feedback>(residual, at), Lanes,
                                          largest[j]);
        }
    for (; i < count; i += Lanes)
        take_largest<Feedback, Lanes>(x + i, residual_at<Feedback>(residual, i), count - i,
                                      largest[0]);
    for (std::size_t j = 1; j < unrolled; ++j)
        largest[0] = largest[j] > largest[0] ? largest[j] : largest[0];
    int most = 0;
    for (int lane = 0; lane < Lanes; ++lane) most = std::max(most, int{largest[0][lane]});
    return static_cast<std::uint32_t>(most);
}

/// How the values of a block become codes.
struct block_code {
    float scale, factor;
    random_key key;
};

/// value = what the receiver will compute for these codes.
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

/// Values between -most and most, which is positive. It compares bits: as signed numbers those of
/// positive floats have their order, and the others are below; as unsigned numbers those of
/// negative floats have the order of their magnitudes, and the others are below.
template <int Lanes>
SOTTO_INLINE void clip_lanes(float most, floats<Lanes>& values) noexcept {
    const std::uint32_t bits = std::bit_cast<std::uint32_t>(most), negative = bits | 1u << 31;
    const integers<Lanes> high = integers<Lanes>{} + static_cast<std::int32_t>(bits);
    const words<Lanes> low = words<Lanes>{} + negative;
    integers<Lanes> upper = reinterpret_cast<integers<Lanes>>(values);
    upper = upper > high ? high : upper;
    words<Lanes> both = reinterpret_cast<words<Lanes>>(upper);
    both = both > low ? low : both;
    values = reinterpret_cast<floats<Lanes>>(both);
}

/// Writes the codes of a block, and what they leave of every value to the residual if there is
/// feedback. With clipping, values beyond the scale count as the scale.
template <int Bits, bool Stochastic, bool Feedback, bool Clip>
struct block_encoder {
    using range = code_range<Bits>;
    /// What a step becomes: in fixed point, or far enough above the smallest floats.
    static constexpr float unit =
        Stochastic ? static_cast<float>(std::uint32_t{1} << range::fraction) : 256.0f;

    template <instruction_set Set>
    SOTTO_INLINE static void lanes(const block_code& how, const words<lanes_of(Set)>& random,
                                   const float* x, float* residual, std::size_t count,
                                   words<lanes_of(Set)>& packed) noexcept {
        SOTTO_UNFUSED_BODY
        constexpr int lanes = lanes_of(Set);
        floats<lanes> value;
        load_values<Feedback, lanes>(x, residual, count, value);
        floats<lanes> scaled = value;
        if constexpr (Clip) clip_lanes<lanes>(how.scale, scaled);
        scaled = scaled * how.factor;
        integers<lanes> codes;
        if constexpr (Stochastic) {
            // The floor of value + random number.
            const words<lanes> point =
                reinterpret_cast<words<lanes>>(__builtin_convertvector(scaled, integers<lanes>));
            const words<lanes> sum = point + (random & ((1u << range::fraction) - 1));
            packed = sum >> range::fraction;
            codes = reinterpret_cast<integers<lanes>>(sum) >> range::fraction;
        } else {
            // The last bit of 1.5 * 2^23 units is worth one: the addition rounds for us.
            scaled = scaled + 0x1.8p23f * unit;
            packed = reinterpret_cast<words<lanes>>(scaled);
            if constexpr (Bits < 8) packed = packed & ((1u << Bits) - 1);
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

    /// While it works, it asks for the next block: both passes then find theirs near.
    template <instruction_set Set>
    SOTTO_INLINE static void block(const block_code& how, std::uint64_t index, const float* x,
                                   float* residual, std::size_t count, std::size_t next,
                                   std::uint8_t* to) noexcept {
        constexpr std::size_t group = codes_in_group, lanes = lanes_of(Set);
        std::size_t i = 0;
        for (; i + group <= count; i += group) {
            words<lanes> random[group / lanes], packed[group / lanes];
            if constexpr (Stochastic) random_words<lanes>(how.key, index + i, random);
            for (std::size_t j = 0; j < group; j += lanes) {
                const std::size_t at = i + j;
                __builtin_prefetch(x + at + next);
                if constexpr (Feedback) __builtin_prefetch(residual + at + next, 1);
                block_encoder::lanes<Set>(how, random[j / lanes], x + at,
                                          residual_at<Feedback>(residual, at), lanes,
                                          packed[j / lanes]);
            }
            pack_codes<Bits, Set>(packed, to + i * Bits / 8);
        }
        if (i == count) return;
        words<lanes> random[group / lanes], packed[group / lanes] = {};
        random_words<lanes>(how.key, index + i, random);
        for (std::size_t at = i; at < count; at += lanes)
            block_encoder::lanes<Set>(how, random[(at - i) / lanes], x + at,
                                      residual_at<Feedback>(residual, at), count - at,
                                      packed[(at - i) / lanes]);
        std::uint8_t bytes[group * Bits / 8];
        pack_codes<Bits, Set>(packed, bytes);
        std::memcpy(to + i * Bits / 8, bytes, ((count - i) * Bits + 7) / 8);
    }

    /// The block that begins at `start` with this scale, of which the bits are given; of a block
    /// that is not finite no code says anything, and so all are 0.
    template <instruction_set Set>
    SOTTO_INLINE static void with_scale(const blocks_to_encode& all, std::size_t start,
                                        std::size_t count, std::uint32_t bits) noexcept {
        const float given = std::bit_cast<float>(bits), scale = given < least_scale ? 0.0f : given;
        all.scales[start / all.block] = scale;
        float* residual = residual_at<Feedback>(all.residual, start);
        std::uint8_t* to = all.codes + start / 8 * Bits;
        if (bits >= infinite_scale) {
            std::fill_n(to, (count * Bits + 7) / 8, std::uint8_t{0});
            if (Feedback) std::fill_n(residual, count, std::bit_cast<float>(0x7fc00000u));
            return;
        }
        const std::uint64_t index = all.first + start;
        const block_code how{scale, code_factor(scale, range::largest, unit),
                             key_of_counters(all.seed, index / 2)};
        block<Set>(how, index, all.x + start, residual, count, all.block, to);
    }
};

template <int Bits, bool Stochastic, bool Feedback>
struct quantise_blocks {
    template <instruction_set Set>
    SOTTO_INLINE static void run(const blocks_to_encode& all) noexcept {
        for (std::size_t start = 0; start < all.count; start += all.block) {
            const std::size_t count = std::min(all.block, all.count - start);
            const float* residual = residual_at<Feedback>(all.residual, start);
            const std::uint32_t largest =
                largest_magnitude<Feedback, lanes_of(Set)>(all.x + start, residual, count);
            block_encoder<Bits, Stochastic, Feedback, false>::template with_scale<Set>(
                all, start, count, largest);
        }
    }
};

}  // namespace sotto::kernels::inline SOTTO_UNIT::detail
