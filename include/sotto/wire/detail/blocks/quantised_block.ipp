#pragma once

#include "sotto/wire/detail/blocks/quantised_block.hpp"

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

#include "sotto/core/bytes.hpp"
#include "sotto/core/config.hpp"
#include "sotto/core/result.hpp"
#include "sotto/kernels/detail/quantise/quantise.hpp"
#include "sotto/kernels/detail/simd/reductions.hpp"
#include "sotto/wire/value_format.hpp"

namespace sotto::detail::wire {

inline namespace SOTTO_UNIT {

/// True if one of the codes is the lowest of its width, which quantising never produces.
inline bool holds_lowest_code(int bits, std::span<const std::uint8_t> codes) noexcept {
    const std::uint64_t ones = ~std::uint64_t{0} / ((std::uint64_t{1} << bits) - 1);
    const std::uint64_t lowest = ones << (bits - 1);
    std::uint64_t found = 0;
    for (std::size_t i = 0; i < codes.size(); i += sizeof found) {
        std::uint64_t word = 0;
        if (i + sizeof word <= codes.size())
            std::memcpy(&word, codes.data() + i, sizeof word);
        else
            std::memcpy(&word, codes.data() + i, codes.size() - i);
        // The subtraction sets the highest bit of every field that is zero. It may also set it in
        // fields above such a field, but never in fields below.
        const std::uint64_t fields = word ^ lowest;
        found |= (fields - ones) & ~fields & lowest;
    }
    return found != 0;
}

SOTTO_DECL result<quantised_block> decode_quantised(byte_view in, const quantised_shape& shape,
                                                    std::span<float> scales) noexcept {
    if (static_cast<std::int64_t>(in.size()) != encoded_quantised_bytes(shape))
        return fault{0, "bytes: a width, the codes and the scales",
                     static_cast<std::int64_t>(in.size()), encoded_quantised_bytes(shape)};
    if (const auto bits = std::to_integer<int>(in[0]); bits != shape.bits)
        return fault{0, "bits a code", std::int64_t{bits}, std::int64_t{shape.bits}};
    const auto count = static_cast<std::size_t>(code_bytes_of(shape));
    const auto buckets = static_cast<std::size_t>(buckets_of(shape));
    if (buckets > scales.size())
        return fault{0, "at most as many buckets as there is room for", buckets_of(shape)};

    const std::span codes(reinterpret_cast<const std::uint8_t*>(in.data() + 1), count);
    if (const auto used = shape.size * shape.bits % 8; used != 0 && codes.back() >> used != 0)
        return fault{static_cast<std::int64_t>(count), "zeros behind the last code",
                     std::int64_t{codes.back()}};
    if (holds_lowest_code(shape.bits, codes))
        return fault{1, "codes of two's complement without the lowest",
                     -(std::int64_t{1} << (shape.bits - 1))};
    const auto read = read_values(value_format::fp32, in.subspan(1 + count), scales.first(buckets));
    if (!read) return read.why();
    for (std::size_t i = 0; i < buckets; ++i)
        if (const auto bits = std::bit_cast<std::uint32_t>(scales[i]);
            bits >> 31 != 0 || !kernels::is_finite(scales[i]))
            return fault{static_cast<std::int64_t>(1 + count + 4 * i),
                         "a scale, finite and without a sign", std::int64_t{bits}};
    return quantised_block{scales.first(buckets), codes};
}

}  // namespace SOTTO_UNIT

}  // namespace sotto::detail::wire
