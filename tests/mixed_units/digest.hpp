#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

// Each unit's own, as all that includes it.
namespace {

template <class T>
std::uint64_t digest_of(std::span<const T> values) {
    const auto* bytes = reinterpret_cast<const unsigned char*>(values.data());
    std::uint64_t digest = 0xcbf29ce484222325u;  // FNV-1a
    for (std::size_t i = 0; i < values.size_bytes(); ++i)
        digest = (digest ^ bytes[i]) * 0x100000001b3u;
    return digest;
}

template <class T, std::size_t Size>
std::uint64_t digest_of(const std::array<T, Size>& values) {
    return digest_of(std::span<const T>(values));
}

}  // namespace
