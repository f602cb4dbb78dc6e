#pragma once

#include <cstddef>
#include <span>
#include <type_traits>
#include <vector>

#include "sotto/core/config.hpp"

namespace sotto {

/// Bytes that the holder owns, such as a message in flight.
using bytes = std::vector<std::byte>;
/// Read-only view of bytes that the caller owns.
using byte_view = std::span<const std::byte>;
/// Writable view of bytes that the caller owns.
using mutable_byte_view = std::span<std::byte>;

/// Returns the memory of a span of plain values, as bytes.
template <class T>
    requires std::is_trivially_copyable_v<T> byte_view bytes_of(std::span<const T> values)
noexcept {
    return std::as_bytes(values);
}

/// Same as bytes_of, but writable.
template <class T>
    requires(std::is_trivially_copyable_v<T> && !std::is_const_v<T>)
mutable_byte_view writable_bytes_of(std::span<T> values)
noexcept {
    return std::as_writable_bytes(values);
}

}  // namespace sotto
