#pragma once

#include "sotto/checkpoint/detail/digester.hpp"

#include <cstddef>

#include "sotto/core/config.hpp"

namespace sotto::detail::checkpoint {

SOTTO_DECL digester& digester::update(byte_view piece) noexcept {
    if (!piece.empty()) XXH3_128bits_update(&state_, piece.data(), piece.size());
    return *this;
}

SOTTO_DECL digest digester::value() const noexcept {
    XXH128_canonical_t canonical;
    XXH128_canonicalFromHash(&canonical, XXH3_128bits_digest(&state_));
    digest out;
    for (std::size_t i = 0; i < out.size(); ++i) out[i] = std::byte{canonical.digest[i]};
    return out;
}

}  // namespace sotto::detail::checkpoint
