#include "sotto/data/detail/gunzip.hpp"

#include <doctest/doctest.h>

#include <cstddef>
#include <cstdint>

#include "unit/data/idx_files.hpp"

using sotto::detail::data::gunzip;

TEST_CASE("gunzip unpacks what was packed, in pieces of any size") {
    const auto plain = idx_test::idx_file({10, 10}, 100);
    const auto packed = idx_test::gzip(plain);
    CHECK(sotto::detail::data::is_gzip(packed));
    CHECK_FALSE(sotto::detail::data::is_gzip(plain));
    for (std::size_t piece = 1; piece <= plain.size() + 1; ++piece) {
        gunzip unpacking{packed};
        sotto::bytes all;
        while (true) {
            sotto::bytes part(piece);
            const auto got = unpacking.read(part);
            REQUIRE(got);
            all.insert(all.end(), part.begin(), part.begin() + *got);
            if (*got < static_cast<std::int64_t>(piece)) break;
        }
        CHECK(all == plain);
        CHECK(unpacking.finish());
    }
}

TEST_CASE("gunzip refuses every truncation, and no flipped bit changes what it yields") {
    const auto plain = idx_test::idx_file({4, 5}, 20);
    const auto packed = idx_test::gzip(plain);
    const auto unpacks = [&](sotto::byte_view file) {
        gunzip unpacking{file};
        sotto::bytes all(plain.size());
        const auto got = unpacking.read(all);
        const bool accepted =
            got && *got == static_cast<std::int64_t>(plain.size()) && unpacking.finish();
        if (accepted) CHECK(all == plain);
        return accepted;
    };
    CHECK(unpacks(packed));
    for (std::size_t size = 0; size < packed.size(); ++size)
        CHECK_FALSE(unpacks(sotto::byte_view(packed).first(size)));
    int accepted = 0;
    for (std::size_t bit = 0; bit < 8 * packed.size(); ++bit) {
        auto flipped = packed;
        flipped[bit / 8] ^= static_cast<std::byte>(1u << bit % 8);
        CAPTURE(bit);
        accepted += unpacks(flipped) ? 1 : 0;
    }
    // One flag, six bytes of time, packer's flags and system, and what pads the last byte of the
    // packed data: they carry no content.
    CHECK(accepted <= 1 + 6 * 8 + 7);
    auto longer = packed;
    longer.push_back(std::byte{0});
    CHECK_FALSE(unpacks(longer));
}
