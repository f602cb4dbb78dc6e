// More values than 32 bits can number, without the memory for them: one block of memory is mapped
// again and again, one behind the other.

#include <doctest/doctest.h>

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <limits>
#include <span>
#include <vector>

#include "sotto/core/errors.hpp"
#include "sotto/kernels/select_top_k.hpp"

#if defined(__linux__) && defined(__LP64__)
#include <sys/mman.h>
#include <unistd.h>

namespace {

constexpr std::size_t tile = std::size_t{1} << 24;  // floats, 64 MiB
constexpr std::size_t repetitions = 256;            // 2^32 floats

/// 2^32 values that repeat one block, and behind them another block.
class long_vector {
public:
    long_vector() {
        file_ = memfd_create("values", 0);
        REQUIRE(file_ >= 0);
        REQUIRE(ftruncate(file_, static_cast<off_t>(2 * bytes)) == 0);
        void* const reserved = mmap(nullptr, (repetitions + 1) * bytes, PROT_NONE,
                                    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        REQUIRE(reserved != MAP_FAILED);
        start_ = static_cast<std::byte*>(reserved);
        for (std::size_t i = 0; i <= repetitions; ++i) {
            const auto offset = static_cast<off_t>(i < repetitions ? 0 : bytes);
            REQUIRE(mmap(start_ + i * bytes, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED,
                         file_, offset) != MAP_FAILED);
        }
    }
    ~long_vector() {
        munmap(start_, (repetitions + 1) * bytes);
        close(file_);
    }
    long_vector(const long_vector&) = delete;
    long_vector& operator=(const long_vector&) = delete;

    std::span<float> all() const noexcept {
        return {reinterpret_cast<float*>(start_), (repetitions + 1) * tile};
    }

private:
    static constexpr std::size_t bytes = tile * sizeof(float);

    int file_ = -1;
    std::byte* start_ = nullptr;
};

}  // namespace

TEST_CASE("more than 2^32 values: places beyond 32 bits, and equal values on both sides") {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
    MESSAGE("skipped: under a sanitizer it would take minutes");
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
    MESSAGE("skipped: under a sanitizer it would take minutes");
    return;
#endif
#endif
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
    constexpr std::size_t in_tile = 12345, first_behind = 7, second_behind = tile - 1;
    const long_vector values;
    values.all()[in_tile] = 5.0f;  // in all of the repetitions
    values.all()[repetitions * tile + first_behind] = -9.0f;
    values.all()[repetitions * tile + second_behind] = 5.0f;

    sotto::kernels::wide_top_k_scratch scratch;
    const auto found = sotto::kernels::select_top_k(values.all(), 4, scratch);
    const std::vector<std::uint64_t> expected{in_tile, tile + in_tile, 2 * tile + in_tile,
                                              repetitions * tile + first_behind};
    CHECK(std::vector(found.indices.begin(), found.indices.end()) == expected);
    CHECK(found.values[0] == 5.0f);
    CHECK(found.values[3] == -9.0f);

    const auto most = sotto::kernels::select_top_k(
        values.all(), static_cast<std::int64_t>(repetitions) + 2, scratch);
    CHECK(most.indices[repetitions - 1] == (repetitions - 1) * tile + in_tile);
    CHECK(most.indices[repetitions] == repetitions * tile + first_behind);
    CHECK(most.indices[repetitions + 1] == repetitions * tile + second_behind);

    values.all()[repetitions * tile + 3] = std::numeric_limits<float>::quiet_NaN();
    CHECK_THROWS_WITH_AS(sotto::kernels::select_top_k(values.all(), 4, scratch),
                         "select_top_k: value 4294967299 is NaN", const sotto::error&);

    sotto::kernels::top_k_scratch narrow;
    CHECK_THROWS_WITH_AS(
        sotto::kernels::select_top_k(values.all(), 4, narrow),
        "select_top_k: there are 4311744512 values; this scratch's index type allows 4294967296",
        const sotto::invalid_option&);
#endif
}
#else
TEST_CASE("more than 2^32 values") {
    MESSAGE("skipped: this system has no memfd_create");
}
#endif
