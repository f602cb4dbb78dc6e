#include "support/allocation_count.hpp"

#include <malloc.h>

#include <atomic>
#include <cstdlib>
#include <new>

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define SOTTO_COUNTS_ALLOCATIONS 0
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define SOTTO_COUNTS_ALLOCATIONS 0
#endif
#endif
#ifndef SOTTO_COUNTS_ALLOCATIONS
#define SOTTO_COUNTS_ALLOCATIONS 1
#endif

namespace support {

namespace {
// Constant-initialised, since operator new is called before any constructor of ours.
constinit std::atomic<std::int64_t> process_count{0};
constinit std::atomic<std::int64_t> process_bytes{0};
constinit thread_local std::int64_t thread_count = 0;
constinit thread_local std::int64_t fails_at = -1;
}  // namespace

const bool allocation_count::works = SOTTO_COUNTS_ALLOCATIONS != 0;

std::int64_t allocation_count::of_thread() noexcept {
    return thread_count;
}

std::int64_t allocation_count::of_process() noexcept {
    return process_count.load(std::memory_order_relaxed);
}

std::int64_t allocation_count::held() noexcept {
    return process_bytes.load(std::memory_order_relaxed);
}

failing_allocation::failing_allocation(std::int64_t which) noexcept {
    fails_at = which < 0 ? -1 : thread_count + which;
}

failing_allocation::~failing_allocation() {
    fails_at = -1;
}

bool failing_allocation::has_failed() const noexcept {
    return fails_at >= 0 && thread_count > fails_at;
}

#if SOTTO_COUNTS_ALLOCATIONS

namespace {
void* held(void* memory) noexcept {
    if (memory == nullptr) return nullptr;
    process_bytes.fetch_add(static_cast<std::int64_t>(malloc_usable_size(memory)),
                            std::memory_order_relaxed);
    return memory;
}

void give_back(void* memory) noexcept {
    process_bytes.fetch_sub(static_cast<std::int64_t>(malloc_usable_size(memory)),
                            std::memory_order_relaxed);
    std::free(memory);
}

/// Whether this one is to fail.
bool count() noexcept {
    process_count.fetch_add(1, std::memory_order_relaxed);
    return thread_count++ == fails_at;
}

void* allocate(std::size_t size) noexcept {
    if (count()) return nullptr;
    return held(std::malloc(size != 0 ? size : 1));
}

void* allocate(std::size_t size, std::align_val_t alignment) noexcept {
    if (count()) return nullptr;
    const auto unit = static_cast<std::size_t>(alignment);
    // aligned_alloc wants a multiple of the alignment; a size so large that rounding it up wraps
    // around could not be had anyway.
    const std::size_t rounded = (size + unit - 1) / unit * unit;
    return rounded >= size ? held(std::aligned_alloc(unit, rounded != 0 ? rounded : unit))
                           : nullptr;
}

void* or_throw(void* memory) {
    if (memory == nullptr) throw std::bad_alloc();
    return memory;
}
}  // namespace

#endif

}  // namespace support

#if SOTTO_COUNTS_ALLOCATIONS

using std::align_val_t;
using std::nothrow_t;
using std::size_t;
using support::allocate;
using support::give_back;
using support::or_throw;

// A table of signatures reads best with one on each line.
// clang-format off
void* operator new(size_t n) { return or_throw(allocate(n)); }
void* operator new[](size_t n) { return or_throw(allocate(n)); }
void* operator new(size_t n, align_val_t a) { return or_throw(allocate(n, a)); }
void* operator new[](size_t n, align_val_t a) { return or_throw(allocate(n, a)); }
void* operator new(size_t n, const nothrow_t&) noexcept { return allocate(n); }
void* operator new[](size_t n, const nothrow_t&) noexcept { return allocate(n); }
void* operator new(size_t n, align_val_t a, const nothrow_t&) noexcept { return allocate(n, a); }
void* operator new[](size_t n, align_val_t a, const nothrow_t&) noexcept { return allocate(n, a); }

void operator delete(void* p) noexcept { give_back(p); }
void operator delete[](void* p) noexcept { give_back(p); }
void operator delete(void* p, size_t) noexcept { give_back(p); }
void operator delete[](void* p, size_t) noexcept { give_back(p); }
void operator delete(void* p, align_val_t) noexcept { give_back(p); }
void operator delete[](void* p, align_val_t) noexcept { give_back(p); }
void operator delete(void* p, size_t, align_val_t) noexcept { give_back(p); }
void operator delete[](void* p, size_t, align_val_t) noexcept { give_back(p); }
void operator delete(void* p, const nothrow_t&) noexcept { give_back(p); }
void operator delete[](void* p, const nothrow_t&) noexcept { give_back(p); }
void operator delete(void* p, align_val_t, const nothrow_t&) noexcept { give_back(p); }
void operator delete[](void* p, align_val_t, const nothrow_t&) noexcept { give_back(p); }
// clang-format on

#endif
