#include "support/allocation_count.hpp"

#include <doctest/doctest.h>

#include <cstdint>
#include <memory>
#include <new>
#include <thread>
#include <vector>

namespace {
struct alignas(64) cache_line {
    std::int64_t value = 0;
};

// Out of reach of the optimiser, which may otherwise leave out a new with its delete.
template <class T>
T* kept(T* memory) {
    static T* volatile place;
    place = memory;
    return place;
}

bool skips() {
    if (!support::allocation_count::works) MESSAGE("skipped: the sanitizer keeps its operator new");
    return !support::allocation_count::works;
}
}  // namespace

TEST_CASE("every form of new is counted once, and delete is not") {
    if (skips()) return;
    const support::allocation_count count;
    delete kept(new int(1));
    CHECK(count.on_this_thread() == 1);
    delete[] kept(new int[3]);
    CHECK(count.on_this_thread() == 2);
    delete kept(new (std::nothrow) int(1));
    CHECK(count.on_this_thread() == 3);
    delete[] kept(new (std::nothrow) int[3]);
    CHECK(count.on_this_thread() == 4);
    delete kept(new cache_line);
    CHECK(count.on_this_thread() == 5);
    delete[] kept(new cache_line[3]);
    CHECK(count.on_this_thread() == 6);
    delete kept(new (std::nothrow) cache_line);
    CHECK(count.on_this_thread() == 7);
    delete[] kept(new (std::nothrow) cache_line[3]);
    CHECK(count.on_this_thread() == 8);
    CHECK(count.on_all_threads() == 8);
}

TEST_CASE("memory from new is aligned as asked") {
    const std::unique_ptr<cache_line> one(kept(new cache_line));
    CHECK(reinterpret_cast<std::uintptr_t>(one.get()) % alignof(cache_line) == 0);
    ::operator delete(kept(::operator new(0)));
}

TEST_CASE("a vector within its capacity is not counted, beyond it is") {
    if (skips()) return;
    std::vector<int> values;
    values.reserve(4);
    const support::allocation_count count;
    for (int i = 0; i < 4; ++i) values.push_back(i);
    CHECK(count.on_this_thread() == 0);
    values.push_back(4);
    CHECK(count.on_this_thread() == 1);
}

TEST_CASE("another thread's allocations are counted for the process alone") {
    if (skips()) return;
    std::int64_t inside = 0;
    const support::allocation_count count;
    std::thread other([&] {
        const support::allocation_count own;
        for (int i = 0; i < 10; ++i) delete kept(new int(i));
        inside = own.on_this_thread();
    });
    const std::int64_t to_start_a_thread = count.on_this_thread();
    other.join();
    CHECK(inside == 10);
    CHECK(count.on_this_thread() == to_start_a_thread);
    CHECK(count.on_all_threads() >= to_start_a_thread + 10);
}
