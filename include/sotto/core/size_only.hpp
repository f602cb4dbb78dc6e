#pragma once

#include <atomic>
#include <cstddef>
#include <span>
#include <stdexcept>
#include <string>
#include <type_traits>

#include "sotto/core/config.hpp"

namespace sotto::detail {

/// Reserved addresses without memory. The system stops a process that reads or writes there.
struct nowhere {
    static constexpr std::size_t bytes = std::size_t{1} << 38;
    static inline std::atomic<std::byte*> begin = nullptr;  // set by reserve()

    static void* reserve();

    static bool holds(const void* place) noexcept;
};

}  // namespace sotto::detail

namespace sotto {

/// Returns a span of `count` values that have addresses but no content. Ranks of a simulated
/// network use it to measure the cost of training without training. Sending, summing and gathering
/// such values takes the time and the bytes of real values. The system stops a process that reads
/// or writes them.
///   shape   up to 2^38 bytes
///   cost    addresses only; all callers share them
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

/// False if size_only returned these values; true for an empty span.
template <class Value>
bool has_content(std::span<Value> values) noexcept {
    return values.empty() || !detail::nowhere::holds(values.data());
}

}  // namespace sotto

#ifndef SOTTO_SEPARATE_COMPILATION
#include "sotto/core/size_only.ipp"
#endif
