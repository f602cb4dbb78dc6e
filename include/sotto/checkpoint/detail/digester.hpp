#pragma once

#include "sotto/checkpoint/detail/digest.hpp"
#include "sotto/core/bytes.hpp"
#include "sotto/core/detail/memory/xxhash.hpp"

namespace sotto::detail::checkpoint {

/// The digest of bytes that come piece by piece: the same as of all of them at once.
class digester {
public:
    /// Of no bytes yet.
    digester() noexcept { XXH3_128bits_reset(&state_); }

    /// Takes the next bytes in.
    digester& update(byte_view piece) noexcept;

    /// The digest of all bytes so far; more may follow.
    digest value() const noexcept;

private:
    XXH3_state_t state_;
};

}  // namespace sotto::detail::checkpoint

#ifndef SOTTO_SEPARATE_COMPILATION
#include "sotto/checkpoint/detail/digester.ipp"
#endif
