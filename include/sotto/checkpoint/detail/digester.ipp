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
    return sotto::detail::canonical_bytes(XXH3_128bits_digest(&state_));
}

}  // namespace sotto::detail::checkpoint
