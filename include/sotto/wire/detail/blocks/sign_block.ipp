#pragma once

#include "sotto/wire/detail/blocks/sign_block.hpp"

#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>

#include "sotto/core/bytes.hpp"
#include "sotto/core/config.hpp"
#include "sotto/core/result.hpp"
#include "sotto/kernels/detail/quantise/code_sizes.hpp"
#include "sotto/kernels/detail/quantise/scaled_signs.hpp"
#include "sotto/kernels/detail/quantise/signs.hpp"
#include "sotto/kernels/detail/simd/reductions.hpp"
#include "sotto/wire/detail/coding/little_endian.hpp"

namespace sotto::detail::wire {

inline namespace SOTTO_UNIT {

SOTTO_DECL float encode_signs(std::span<const float> values, bytes& out) {
    const std::size_t start = out.size(), count = kernels::bytes_of_signs(values.size());
    out.resize(start + 4 + count);
    const float magnitude = kernels::pack_signs_and_mean(
        values, {reinterpret_cast<std::uint8_t*>(out.data() + start + 4), count});
    store_little_endian(out.data() + start, std::bit_cast<std::uint32_t>(magnitude));
    return magnitude;
}

SOTTO_DECL result<sign_block> decode_signs(byte_view in, std::int64_t n) noexcept {
    if (static_cast<std::int64_t>(in.size()) != encoded_sign_bytes(n))
        return fault{0, "bytes: a magnitude and a bit for every value",
                     static_cast<std::int64_t>(in.size()), encoded_sign_bytes(n)};
    const std::uint32_t bits = load_little_endian<std::uint32_t>(in.data());
    if (const float magnitude = std::bit_cast<float>(bits);
        bits >> 31 != 0 || !kernels::is_finite(magnitude))
        return fault{0, "a magnitude, finite and without a sign", std::int64_t{bits}};
    const byte_view signs = in.subspan(4);
    if (const auto used = n % 8; used != 0)
        if (const auto last = std::to_integer<unsigned>(signs.back()); last >> used != 0)
            return fault{static_cast<std::int64_t>(in.size()) - 1,
                         "zeros behind the sign of the last value", std::int64_t{last}};
    return sign_block{std::bit_cast<float>(bits),
                      {reinterpret_cast<const std::uint8_t*>(signs.data()), signs.size()}};
}

}  // namespace SOTTO_UNIT

}  // namespace sotto::detail::wire
