#pragma once

#include "sotto/compressors/scaled_sign.hpp"

#include "sotto/core/config.hpp"
#include "sotto/core/errors.hpp"
#include "sotto/kernels/detail/quantise/signs.hpp"
#include "sotto/kernels/detail/simd/reductions.hpp"
#include "sotto/wire/detail/blocks/sign_block.hpp"

namespace sotto {

SOTTO_DECL void scaled_sign::state::encode(const tensor& t, std::span<const float> gradient,
                                           bytes& out) {
    if (vectors_.has(t)) return vectors_.encode(gradient, out);
    if (!detail::kernels::is_finite(detail::wire::encode_signs(gradient, out)))
        throw error(errc::non_finite,
                    "scaled_sign: what is to be sent of tensor '" + t.name +
                        "' is not finite: element " +
                        std::to_string(detail::kernels::first_non_finite(gradient)));
}

SOTTO_DECL void scaled_sign::state::decode_add(const tensor& t, byte_view message,
                                               std::span<float> sum) {
    if (vectors_.has(t)) return vectors_.decode_add(t, message, sum);
    const auto block = detail::wire::decode_signs(message, t.size).value(detail::message_of{t});
    detail::kernels::unpack_signs_add(block.signs, block.magnitude, sum);
}

SOTTO_DECL void scaled_sign::state::decode_subtract(const tensor& t, byte_view message,
                                                    std::span<float> sum) {
    if (vectors_.has(t)) return vectors_.decode_subtract(t, message, sum);
    const auto block = detail::wire::decode_signs(message, t.size).value(detail::message_of{t});
    detail::kernels::unpack_signs_add(block.signs, -block.magnitude, sum);
}

SOTTO_DECL std::int64_t scaled_sign::state::message_bytes_max(const tensor& t) const noexcept {
    return vectors_.has(t) ? vectors_.message_bytes(t) : detail::wire::encoded_sign_bytes(t.size);
}

}  // namespace sotto
