#pragma once

#include "sotto/checkpoint/detail/digest.hpp"
#include "sotto/core/bytes.hpp"
#include "sotto/core/detail/memory/xxhash.hpp"

namespace sotto::detail::checkpoint {

/// Computes the digest of bytes that arrive in pieces, which equals the digest of all bytes at
/// once.
class digester {
public:
    /// Starts with no bytes.
    digester() noexcept { XXH3_128bits_reset(&state_); }

    /// Adds the next bytes.
    digester& update(byte_view piece) noexcept;

    /// Returns the digest of all bytes so far; more may follow.
    digest value() const noexcept;

private:
    XXH3_state_t state_;
};

}  // namespace sotto::detail::checkpoint

#ifndef SOTTO_SEPARATE_COMPILATION
#include "sotto/checkpoint/detail/digester.ipp"
#endif
