#pragma once

#include <atomic>
#include <cstddef>
#include <span>
#include <stdexcept>
#include <string>
#include <type_traits>

#include "sotto/core/config.hpp"

namespace sotto::detail {

/// Addresses that nothing is behind: whoever reads or writes there is stopped by the system.
struct nowhere {
    static constexpr std::size_t bytes = std::size_t{1} << 38;
    static inline std::atomic<std::byte*> begin = nullptr;  // until somebody wants them

    static void* reserve();

    static bool holds(const void* place) noexcept;
};

}  // namespace sotto::detail

namespace sotto {

/// Values of which only the number is known: for ranks of a simulated network that account for what
/// training costs, and do not train. Messages, sums and gathers of them take the time and the bytes
/// that those of real values would; nothing may read or write them, and the system sees to it.
///   shape   up to 2^38 bytes
///   cost    addresses alone; the same for everybody
///   errors  std::length_error: more bytes
template <class Value = float>
std::span<Value> size_only(std::size_t count) {
    static_assert(std::is_trivially_copyable_v<Value>);
    if (count > detail::nowhere::bytes / sizeof(Value))
        throw std::length_error("size_only: " + std::to_string(count) + " values of " +
                                std::to_string(sizeof(Value)) +
                                " bytes; up to 2^38 bytes are "
                                "possible");
    return {static_cast<Value*>(detail::nowhere::reserve()), count};
}

/// Whether these are values, and not only a number of them.
template <class Value>
bool has_content(std::span<Value> values) noexcept {
    return values.empty() || !detail::nowhere::holds(values.data());
}

}  // namespace sotto

#ifndef SOTTO_SEPARATE_COMPILATION
#include "sotto/core/size_only.ipp"
#endif
