#include "sotto/wire/detail/coding/gaps.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

#include "sotto/core/random.hpp"
#include "sotto/kernels/instruction_set.hpp"
#include "sotto/kernels/detail/simd/unfused.hpp"
#include "support/lanes.hpp"

using namespace sotto;
using namespace sotto::detail::wire;

namespace {

struct classes_kernel {
    template <sotto::detail::kernels::instruction_set>
    SOTTO_INLINE static void run(const gap_classes& classes,
                                 const std::span<const std::uint32_t>& gaps,
                                 std::uint32_t* const& to) noexcept {
        sotto::detail::wire::classes_of(classes, gaps.data(), gaps.size(), to);
    }
};

void check_classes(const std::vector<std::uint32_t>& gaps) {
    for (int fine = 0; fine <= 3; ++fine)
        testing::on_every_set([&](sotto::detail::kernels::instruction_set set) {
            std::vector<std::uint32_t> found(gaps.size());
            detail::kernels::run_unfused<classes_kernel>(
                set, gap_classes{fine}, std::span<const std::uint32_t>(gaps), found.data());
            for (std::size_t i = 0; i < gaps.size(); ++i) {
                CAPTURE(gaps[i]);
                REQUIRE(static_cast<int>(found[i]) == gap_classes{fine}.of(gaps[i]));
            }
        });
}

}  // namespace

TEST_CASE("classes found through floats are those of the definition, on every instruction set") {
    std::vector<std::uint32_t> gaps;
    for (std::uint32_t gap = 0; gap < 5000; ++gap) gaps.push_back(gap);
    check_classes(gaps);

    // Around every boundary between classes, and what rounds up from all ones.
    gaps.clear();
    for (int bit = 4; bit < 32; ++bit)
        for (std::uint32_t leading = 8; leading <= 16; ++leading) {
            const std::uint64_t boundary = (std::uint64_t{leading} << bit) >> 3;
            for (const std::uint64_t gap : {boundary - 2, boundary - 1, boundary, boundary + 1})
                gaps.push_back(static_cast<std::uint32_t>(std::min<std::uint64_t>(gap, ~0u)));
        }
    for (int shift = 0; shift < 32; ++shift)
        for (const std::uint32_t ones : {~0u, ~0u - 0x80, 0xFF7FFFFFu, 0xFEFFFFFFu})
            gaps.push_back(ones >> shift);
    check_classes(gaps);

    random_stream random(1);
    gaps.resize(100'000);
    for (std::uint32_t& gap : gaps) gap = random() >> random.below(32);
    check_classes(gaps);
}

TEST_CASE("gaps are the elements left out before each index, and tell whether all rise") {
    const std::vector<std::uint32_t> indices{3, 4, 10, 11, 4'294'967'295};
    std::vector<std::uint32_t> gaps(indices.size());
    CHECK(sotto::detail::wire::gaps_of(indices.data(), 0, 5, gaps.data()));
    CHECK(gaps == std::vector<std::uint32_t>{3, 0, 5, 0, 4'294'967'283});
    CHECK(sotto::detail::wire::gaps_of(indices.data(), 2, 2, gaps.data()));
    CHECK(gaps[0] == 5);
    CHECK(gaps[1] == 0);
    const std::vector<std::uint32_t> equal{7, 7}, falling{7, 9, 8, 10};
    CHECK_FALSE(sotto::detail::wire::gaps_of(equal.data(), 0, 2, gaps.data()));
    CHECK_FALSE(sotto::detail::wire::gaps_of(equal.data(), 1, 1, gaps.data()));
    CHECK_FALSE(sotto::detail::wire::gaps_of(falling.data(), 0, 4, gaps.data()));
    CHECK(sotto::detail::wire::gaps_of(falling.data(), 3, 1, gaps.data()));
}
