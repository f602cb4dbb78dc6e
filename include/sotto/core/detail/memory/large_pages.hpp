#pragma once

#if defined(__linux__)
#include <sys/mman.h>
#endif

#include <cstddef>
#include <limits>
#include <memory>
#include <new>
#include <vector>

namespace sotto::detail {

/// Memory that begins with a cache line; large memory begins with a large page and is asked for in
/// such pages, where the system gives them for the asking: passes over it miss fewer translations
/// of addresses, and touching it first costs a fault for 2 MiB instead of 4 KiB.
///   errors  std::bad_alloc
template <class Value>
struct large_page_allocator {
    /// What the memory is for, as allocators say it.
    using value_type = Value;

    large_page_allocator() = default;
    /// All of them are alike.
    template <class Other>
    constexpr large_page_allocator(const large_page_allocator<Other>&) noexcept {}

    /// Memory for so many values, which are not made; throws std::bad_alloc.
    [[nodiscard]] static Value* allocate(std::size_t count) {
        if (count > (std::numeric_limits<std::size_t>::max)() / sizeof(Value))
            throw std::bad_array_new_length();
        const std::size_t size = count * sizeof(Value);
        void* const taken = ::operator new(size, alignment_of(size));
#if defined(__linux__)
        if (size >= large_page) ::madvise(taken, size, MADV_HUGEPAGE);  // or else small ones
#endif
        return static_cast<Value*>(taken);
    }

    /// Gives back what `allocate` gave for so many values.
    static void deallocate(Value* taken, std::size_t count) noexcept {
        ::operator delete(taken, alignment_of(count * sizeof(Value)));
    }

    template <class Other>
    friend constexpr bool operator==(const large_page_allocator&,
                                     const large_page_allocator<Other>&) noexcept {
        return true;
    }

private:
    static constexpr std::size_t line = 64, large_page = std::size_t{2} << 20;

    static constexpr std::align_val_t alignment_of(std::size_t size) noexcept {
        return std::align_val_t{size < large_page ? line : large_page};
    }
};

/// For what a pass goes over in every round: gradients, sums, velocities, parameters.
template <class Value>
using large_vector = std::vector<Value, large_page_allocator<Value>>;

}  // namespace sotto::detail
