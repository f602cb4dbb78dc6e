#include "sotto/kernels/detail/quantise/code_packing.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <vector>

#include "sotto/core/random.hpp"
#include "sotto/kernels/detail/simd/unfused.hpp"
#include "sotto/kernels/instruction_set.hpp"
#include "support/lanes.hpp"

namespace kernels = sotto::kernels;
using sotto::detail::kernels::instruction_set;
using sotto::detail::kernels::values_in_group;
using sotto::testing::on_every_set;

namespace {

using codes_of_group = std::array<std::int32_t, sotto::detail::kernels::values_in_group>;

template <int Bits>
struct pack {
    template <instruction_set Set>
    SOTTO_INLINE static void run(const std::int32_t* codes, std::uint8_t* to) noexcept {
        constexpr int lanes = sotto::detail::kernels::lanes_of(Set);
        sotto::detail::kernels::words<lanes>
            packed[sotto::detail::kernels::values_in_group / lanes];
        for (std::size_t i = 0; i < sotto::detail::kernels::values_in_group / lanes; ++i) {
            sotto::detail::kernels::load(packed[i], codes + i * lanes);
            if constexpr (sotto::detail::kernels::codes_are_upper<Bits, Set>)
                packed[i] = packed[i] << (32 - Bits);
            else if constexpr (Bits < 8)
                packed[i] = packed[i] & ((1u << Bits) - 1);
        }
        sotto::detail::kernels::pack_codes<Bits, Set>(packed, to);
    }
};

template <int Bits>
struct unpack {
    template <instruction_set Set>
    SOTTO_INLINE static void run(const std::uint8_t* from, std::int32_t* codes) noexcept {
        constexpr int lanes = sotto::detail::kernels::lanes_of(Set);
        for (std::size_t i = 0; i < sotto::detail::kernels::values_in_group; i += lanes) {
            sotto::detail::kernels::integers<lanes> some;
            sotto::detail::kernels::unpack_codes<Bits, Set>(from + i * Bits / 8, some);
            sotto::detail::kernels::store(some, codes + i);
        }
    }
};

// Every code of two's complement, also the lowest one.
template <int Bits>
codes_of_group random_codes(sotto::random_stream& random) {
    codes_of_group codes;
    for (std::int32_t& code : codes)
        code = static_cast<std::int32_t>(random.below(1u << Bits)) - (1 << (Bits - 1));
    return codes;
}

template <int Bits>
std::vector<std::uint8_t> plain_bytes(const codes_of_group& codes) {
    std::vector<std::uint8_t> bytes(codes.size() * Bits / 8);
    for (std::size_t i = 0; i < codes.size(); ++i) {
        const auto bits = static_cast<unsigned>(codes[i]) & ((1u << Bits) - 1);
        bytes[i * Bits / 8] |= static_cast<std::uint8_t>(bits << i * Bits % 8);
    }
    return bytes;
}

template <int Bits>
void check() {
    sotto::random_stream random(Bits);
    on_every_set([&](instruction_set set) {
        for (int draw = 0; draw < 200; ++draw) {
            const codes_of_group codes = random_codes<Bits>(random);
            const auto expected = plain_bytes<Bits>(codes);
            const std::size_t shift = random.below(4);
            std::vector<std::uint8_t> bytes(expected.size() + shift + 8, 0xa5);
            sotto::detail::kernels::run_unfused<pack<Bits>>(set, codes.data(),
                                                            bytes.data() + shift);
            const auto end = bytes.end() - 8;
            REQUIRE(std::equal(expected.begin(), expected.end(), end - std::ssize(expected)));
            REQUIRE(std::all_of(end, bytes.end(), [](int b) { return b == 0xa5; }));
            codes_of_group back;
            const std::vector<std::uint8_t> copy(end - std::ssize(expected), end);  // no byte more
            sotto::detail::kernels::run_unfused<unpack<Bits>>(set, copy.data(), back.data());
            REQUIRE(back == codes);
        }
    });
}

}  // namespace

TEST_CASE("codes are packed as by a plain loop, and come back with their signs, on every set") {
    check<8>();
    check<4>();
    check<2>();
}
