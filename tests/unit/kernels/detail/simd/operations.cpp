#include "sotto/kernels/detail/simd/operations.hpp"

#include <doctest/doctest.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <string>
#include <vector>

#include "sotto/core/random.hpp"
#include "sotto/kernels/detail/simd/run_on.hpp"
#include "sotto/kernels/instruction_set.hpp"

namespace kernels = sotto::kernels;
using sotto::detail::kernels::instruction_set;

namespace {

constexpr std::size_t lanes_max = 16;
using lane_words = std::array<std::uint32_t, lanes_max>;

struct reaching {
    template <instruction_set Set>
    SOTTO_INLINE static std::uint32_t run(const std::uint32_t* from, std::uint32_t least) noexcept {
        sotto::detail::kernels::words<sotto::detail::kernels::lanes_of(Set)> magnitudes;
        sotto::detail::kernels::load(magnitudes, from);
        return sotto::detail::kernels::operations<Set>::reaching(magnitudes, least);
    }
};

struct keep {
    template <instruction_set Set>
    SOTTO_INLINE static void run(const std::uint32_t* from, std::uint32_t chosen,
                                 std::uint32_t* to) noexcept {
        sotto::detail::kernels::words<sotto::detail::kernels::lanes_of(Set)> values;
        sotto::detail::kernels::load(values, from);
        sotto::detail::kernels::operations<Set>::keep(values, chosen, to);
    }
};

std::uint32_t plainly_reaching(const lane_words& magnitudes, std::size_t lanes,
                               std::uint32_t least) {
    std::uint32_t bits = 0;
    for (std::size_t lane = 0; lane < lanes; ++lane)
        if (magnitudes[lane] >= least) bits |= 1u << lane;
    return bits;
}

std::vector<std::uint32_t> plainly_kept(const lane_words& from, std::size_t lanes,
                                        std::uint32_t chosen) {
    std::vector<std::uint32_t> kept;
    for (std::size_t lane = 0; lane < lanes; ++lane)
        if ((chosen >> lane & 1) != 0) kept.push_back(from[lane]);
    return kept;
}

// Ends of the range, denormals, one, the largest number, infinity and NaNs.
constexpr std::uint32_t magnitudes_to_meet[] = {0,          1,          2,          0x007fffff,
                                                0x00800000, 0x3f800000, 0x7f7fffff, 0x7f800000,
                                                0x7f800001, 0x7fc00000, 0x7ffffffe, 0x7fffffff};

template <class Check>
void on_every_set(Check check) {
    for (const auto set : {instruction_set::baseline, instruction_set::sse4_2,
                           instruction_set::avx2, instruction_set::avx512}) {
        if (set > kernels::best_instruction_set()) continue;
        CAPTURE(std::string(sotto::detail::kernels::name_of(set)));
        check(set, static_cast<std::size_t>(sotto::detail::kernels::lanes_of(set)));
    }
}

}  // namespace

TEST_CASE("reaching marks the lanes at or above the least, whatever lanes they are") {
    on_every_set([](instruction_set set, std::size_t lanes) {
        for (const std::uint32_t least : magnitudes_to_meet) {
            if (least == 0) continue;
            std::size_t wrong = 0;
            for (std::uint32_t chosen = 0; chosen < 1u << lanes; ++chosen) {
                lane_words at{};
                for (std::size_t lane = 0; lane < lanes; ++lane)
                    at[lane] = least - 1 + (chosen >> lane & 1);
                wrong += sotto::detail::kernels::run_on<reaching>(set, at.data(), least) == chosen
                             ? 0
                             : 1;
            }
            CAPTURE(least);
            CHECK(wrong == 0);
        }
    });
}

TEST_CASE("reaching agrees with a plain loop between any two magnitudes") {
    sotto::random_stream random{17};
    on_every_set([&](instruction_set set, std::size_t lanes) {
        std::size_t wrong = 0;
        for (const std::uint32_t least : magnitudes_to_meet)
            for (int turn = 0; turn < 200; ++turn) {
                lane_words at{};
                for (std::size_t lane = 0; lane < lanes; ++lane)
                    at[lane] = magnitudes_to_meet[random.below(std::size(magnitudes_to_meet))];
                wrong += sotto::detail::kernels::run_on<reaching>(set, at.data(), least) ==
                                 plainly_reaching(at, lanes, least)
                             ? 0
                             : 1;
            }
        CHECK(wrong == 0);
    });
}

TEST_CASE("keep puts any choice of lanes in front, in order, and writes nothing beyond its room") {
    sotto::random_stream random{18};
    on_every_set([&](instruction_set set, std::size_t lanes) {
        constexpr std::uint32_t sentinel = 0xfeedf00d;
        std::size_t wrong = 0;
        for (std::uint32_t chosen = 0; chosen < 1u << lanes; ++chosen) {
            lane_words from{};
            for (std::uint32_t& word : from) word = random();
            // At an address that no vector is aligned to.
            std::array<std::uint32_t, lanes_max + 2> room;
            room.fill(sentinel);
            sotto::detail::kernels::run_on<keep>(set, from.data(), chosen, room.data() + 1);
            const auto kept = plainly_kept(from, lanes, chosen);
            bool right = room[0] == sentinel;
            for (std::size_t i = 0; i < kept.size(); ++i) right &= room[1 + i] == kept[i];
            for (std::size_t i = 1 + lanes; i < room.size(); ++i) right &= room[i] == sentinel;
            wrong += right ? 0 : 1;
        }
        CHECK(wrong == 0);
    });
}
