#pragma once

#include "sotto/core/size_only.hpp"

#include <sys/mman.h>

#include <cstdint>
#include <new>

#include "sotto/core/config.hpp"

namespace sotto::detail {

SOTTO_DECL void* nowhere::reserve() {
    static void* const reserved = [] {
        void* const taken =
            ::mmap(nullptr, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        if (taken == MAP_FAILED) throw std::bad_alloc();
        begin.store(static_cast<std::byte*>(taken), std::memory_order_release);
        return taken;
    }();
    return reserved;
}

SOTTO_DECL bool nowhere::holds(const void* place) noexcept {
    const std::byte* const from = begin.load(std::memory_order_acquire);
    const auto distance =
        reinterpret_cast<std::uintptr_t>(place) - reinterpret_cast<std::uintptr_t>(from);
    return from != nullptr && distance < bytes;
}

}  // namespace sotto::detail
