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

/// Allocates memory aligned to a cache line. Large memory is aligned to a large page, and the
/// system is asked for such pages. Passes over it then miss the TLB less often, and the first
/// access costs one fault for 2 MiB instead of 4 KiB.
///   errors  std::bad_alloc
template <class Value>
struct large_page_allocator {
    /// Type of the values, named as allocators require.
    using value_type = Value;

    large_page_allocator() = default;
    /// All allocators are equal.
    template <class Other>
    constexpr large_page_allocator(const large_page_allocator<Other>&) noexcept {}

    /// Returns memory for `count` values and does not construct them; throws std::bad_alloc.
    [[nodiscard]] static Value* allocate(std::size_t count) {
        if (count > (std::numeric_limits<std::size_t>::max)() / sizeof(Value))
            throw std::bad_array_new_length();
        const std::size_t size = count * sizeof(Value);
        void* const taken = ::operator new(size, alignment_of(size));
#if defined(__linux__)
        // If the system refuses, the pages stay small.
        if (size >= large_page) ::madvise(taken, size, MADV_HUGEPAGE);
#endif
        return static_cast<Value*>(taken);
    }

    /// Frees the memory that `allocate` returned for `count` values.
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

/// For data that a pass reads in every round: gradients, sums, velocities, parameters.
template <class Value>
using large_vector = std::vector<Value, large_page_allocator<Value>>;

}  // namespace sotto::detail
