#include "sotto/kernels/detail/simd/digest.hpp"

#include <doctest/doctest.h>

#include <cstddef>
#include <cstdint>
#include <vector>

#include "sotto/core/bytes.hpp"
#include "sotto/core/random.hpp"

using namespace sotto;
using namespace sotto::kernels;
using namespace sotto::detail::kernels;

namespace {

bytes some_bytes(std::size_t count) {
    random_stream random(7);
    bytes made(count);
    for (std::byte& b : made) b = static_cast<std::byte>(random.below(256));
    return made;
}

constexpr std::uint64_t seeds[] = {0, 1, 0x9E3779B97F4A7C15, ~std::uint64_t{0}};

}  // namespace

TEST_CASE("digests are XXH3's, of every length and from every place") {
    const bytes all = some_bytes(70'000);
    std::vector<std::size_t> sizes{65'536, 65'537, 69'000};
    for (std::size_t n = 0; n <= 3200; ++n) sizes.push_back(n);
    for (const std::size_t n : sizes)
        for (const std::uint64_t seed : seeds) {
            const byte_view content = byte_view(all).subspan(n % 67, n);
            REQUIRE(digest(content, seed) == XXH3_64bits_withSeed(content.data(), n, seed));
        }
}

#if defined(SOTTO_DISPATCHES)
TEST_CASE("every instruction set that digests has makes the same sums") {
    if (sotto::detail::kernels::processor_instruction_set() < instruction_set::avx512) {
        MESSAGE("skipped: this processor has no AVX-512");
        return;
    }
    using sotto::detail::kernels::xxh3_sums;
    const bytes content = some_bytes(70'000),
                secret = some_bytes(sotto::detail::kernels::xxh3::secret_bytes);
    for (std::size_t n = 1025; n <= 70'000; n += n < 3200 ? 1 : 997)
        REQUIRE(sotto::detail::kernels::run_avx512<xxh3_sums>(content.data(), n, secret.data()) ==
                sotto::detail::kernels::run_avx2<xxh3_sums>(content.data(), n, secret.data()));
}
#endif

TEST_CASE("a digest of long content depends on each of its bytes, and on the seed") {
    bytes content = some_bytes(3000);
    const std::uint64_t before = digest(content, 5);
    CHECK(digest(content, 6) != before);
    for (std::byte& b : content) {
        b ^= std::byte{1};
        REQUIRE(digest(content, 5) != before);
        b ^= std::byte{1};
    }
    CHECK(digest(content, 5) == before);
}
