#pragma once

#include <cstddef>
#include <memory>
#include <type_traits>
#include <utility>

#include "sotto/core/config.hpp"
#include "sotto/core/detail/memory/large_pages.hpp"

namespace sotto::detail::kernels::inline SOTTO_UNIT {

/// Memory for values that are written before they are read: values never written cost addresses but
/// no memory. It only grows, and growing discards its contents. Large memory is requested in large
/// pages.
template <class Value>
class uninitialised {
    static_assert(std::is_trivially_default_constructible_v<Value> &&
                      std::is_trivially_destructible_v<Value>,
                  "uninitialised: values must need no construction");

public:
    uninitialised() = default;
    /// Takes over the memory.
    uninitialised(uninitialised&& other) noexcept
        : values_(std::move(other.values_)), size_(std::exchange(other.size_, 0)) {}
    /// Takes over the memory.
    uninitialised& operator=(uninitialised&& other) noexcept {
        values_ = std::move(other.values_);
        size_ = std::exchange(other.size_, 0);
        return *this;
    }
    ~uninitialised() = default;

    /// Allocates the same capacity without contents.
    uninitialised(const uninitialised& other) { reserve(other.size_); }
    /// Allocates at least the same capacity without contents.
    uninitialised& operator=(const uninitialised& other) {
        reserve(other.size_);
        return *this;
    }

    /// Allocates capacity for `size` values; contents are lost if it had less.
    void reserve(std::size_t size) {
        if (size <= size_) return;
        values_.reset();
        size_ = 0;
        values_ = {memory::allocate(size), freed{size}};
        size_ = size;
    }

    /// Start of the memory; null if there is none.
    Value* data() noexcept { return values_.get(); }
    /// Start of the memory; null if there is none.
    const Value* data() const noexcept { return values_.get(); }
    /// Capacity in values.
    std::size_t size() const noexcept { return size_; }

private:
    using memory = large_page_allocator<Value>;

    struct freed {
        std::size_t size = 0;
        void operator()(Value* values) const noexcept { memory::deallocate(values, size); }
    };

    std::unique_ptr<Value, freed> values_;
    std::size_t size_ = 0;
};

}  // namespace sotto::detail::kernels::inline SOTTO_UNIT
