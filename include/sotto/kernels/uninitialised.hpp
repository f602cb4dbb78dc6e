#pragma once

#if defined(__linux__)
#include <sys/mman.h>
#endif

#include <cstddef>
#include <memory>
#include <new>
#include <type_traits>
#include <utility>

#include "sotto/core/config.hpp"

namespace sotto::kernels::inline SOTTO_UNIT {

/// Room for values that are written before they are read: what is never written costs addresses but
/// no memory. It only grows, and then forgets what it held. Large room is asked for in large pages.
template <class Value>
class uninitialised {
    static_assert(std::is_trivially_default_constructible_v<Value> &&
                      std::is_trivially_destructible_v<Value>,
                  "uninitialised: values must need no construction");

public:
    uninitialised() = default;
    uninitialised(uninitialised&& other) noexcept
        : values_(std::move(other.values_)), size_(std::exchange(other.size_, 0)) {}
    uninitialised& operator=(uninitialised&& other) noexcept {
        values_ = std::move(other.values_);
        size_ = std::exchange(other.size_, 0);
        return *this;
    }
    ~uninitialised() = default;

    /// As much room, and nothing in it.
    uninitialised(const uninitialised& other) { reserve(other.size_); }
    uninitialised& operator=(const uninitialised& other) {
        reserve(other.size_);
        return *this;
    }

    void reserve(std::size_t size) {
        if (size <= size_) return;
        values_.reset();
        size_ = 0;
        const std::size_t bytes = size * sizeof(Value);
        const std::align_val_t alignment = alignment_of(bytes);
        values_ = {static_cast<Value*>(::operator new(bytes, alignment)), freed{alignment}};
        size_ = size;
#if defined(__linux__)
        if (bytes >= large_page) ::madvise(values_.get(), bytes, MADV_HUGEPAGE);  // or else small
#endif
    }

    Value* data() noexcept {
        return values_.get();
    }
    const Value* data() const noexcept {
        return values_.get();
    }
    std::size_t size() const noexcept {
        return size_;
    }

private:
    static constexpr std::size_t line = 64, large_page = std::size_t{2} << 20;

    static std::align_val_t alignment_of(std::size_t bytes) noexcept {
        return std::align_val_t{bytes < large_page ? line : large_page};
    }

    struct freed {
        std::align_val_t alignment{line};
        void operator()(Value* values) const noexcept { ::operator delete(values, alignment); }
    };

    std::unique_ptr<Value, freed> values_;
    std::size_t size_ = 0;
};

}  // namespace sotto::kernels::inline SOTTO_UNIT
