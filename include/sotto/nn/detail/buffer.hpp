#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>
#include <span>
#include <vector>

namespace sotto::detail::nn {

/// An allocator of memory aligned to a cache line.
template <class T>
struct cache_aligned {
    using value_type = T;
    static constexpr std::align_val_t alignment{64};

    cache_aligned() = default;
    template <class U>
    cache_aligned(const cache_aligned<U>&) noexcept {}

    T* allocate(std::size_t n) { return static_cast<T*>(::operator new(n * sizeof(T), alignment)); }
    void deallocate(T* p, std::size_t) noexcept { ::operator delete(p, alignment); }
    friend bool operator==(cache_aligned, cache_aligned) noexcept { return true; }
};

/// Scratch memory of a layer. It grows to the largest batch so far and never shrinks, so a smaller
/// batch costs nothing. A copy has the same contents.
template <class T = float>
class buffer {
public:
    /// Returns the first `count` elements and grows if necessary; contents are kept.
    std::span<T> take(std::int64_t count) {
        const auto n = static_cast<std::size_t>(count);
        if (n > values_.size()) {
            values_.reserve(n);  // exact size: resize alone may allocate twice as much
            values_.resize(n);
        }
        return {values_.data(), n};
    }

    /// Returns the first `count` elements; requires an earlier take() of as many.
    std::span<const T> first(std::int64_t count) const noexcept {
        return {values_.data(), static_cast<std::size_t>(count)};
    }

private:
    std::vector<T, cache_aligned<T>> values_;
};

}  // namespace sotto::detail::nn
