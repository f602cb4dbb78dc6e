#pragma once

#include <sotto/checkpoint/digest_text.hpp>

#include <span>
#include <string>

namespace examples {

/// Returns a digest of 16 characters over all bits of the values, to compare two runs by eye.
inline std::string digest_of(std::span<const float> values) {
    return sotto::digest_text(std::as_bytes(values)).substr(0, 16);
}

}  // namespace examples
