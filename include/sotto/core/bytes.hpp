#pragma once

#include <cstddef>
#include <span>
#include <type_traits>
#include <vector>

#include "sotto/core/config.hpp"

namespace sotto {

/// Bytes that are owned, such as a message under way.
using bytes = std::vector<std::byte>;
/// Bytes of somebody else's, to read.
using byte_view = std::span<const std::byte>;
/// Bytes of somebody else's, to write.
using mutable_byte_view = std::span<std::byte>;

/// The memory of a span of plain values, as bytes.
template <class T>
    requires std::is_trivially_copyable_v<T> byte_view bytes_of(std::span<const T> values)
noexcept {
    return std::as_bytes(values);
}

/// The same, to write to.
template <class T>
    requires(std::is_trivially_copyable_v<T> && !std::is_const_v<T>)
mutable_byte_view writable_bytes_of(std::span<T> values)
noexcept {
    return std::as_writable_bytes(values);
}

}  // namespace sotto
