#include "sotto/wire/detail/protocols/frame.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <string>

using namespace sotto;
using namespace sotto::wire;
using namespace sotto::detail::wire;

namespace {

constexpr frame_header some_header{frame_type::granted, 0x01020304, 0x1112131415161718,
                                   0x21222324,          0x31323334, 0x4142434445464748,
                                   0x5152535455565758,  0x61,       0x7172737475767778};

std::array<std::byte, frame_header_bytes> written(const frame_header& header, std::uint64_t seed) {
    std::array<std::byte, frame_header_bytes> out{};
    write_frame_header(header, seed, out.data());
    return out;
}

}  // namespace

TEST_CASE("a frame's header is these bytes, whatever machine writes it") {
    const auto out = written(some_header, 7);
    std::string hex;
    for (const std::byte b : out) {
        constexpr char digits[] = "0123456789abcdef";
        hex += digits[std::to_integer<unsigned>(b) >> 4];
        hex += digits[std::to_integer<unsigned>(b) & 15];
    }
    CHECK(hex.substr(0, 112) ==
          "73500104"
          "04030201"
          "1817161514131211"
          "24232221"
          "34333231"
          "4847464544434241"
          "5857565554535251"
          "6100000000000000"
          "7877767574737271");
}

TEST_CASE("a header comes back, and not with another seed") {
    const auto out = written(some_header, 7);
    const auto read = read_frame_header(out.data(), 7);
    REQUIRE(read);
    CHECK(*read == some_header);
    CHECK_FALSE(read_frame_header(out.data(), 8));
}

TEST_CASE("every flipped bit of a header is found") {
    const auto whole = written(some_header, 1);
    for (std::size_t bit = 0; bit < 8 * whole.size(); ++bit) {
        auto out = whole;
        out[bit / 8] ^= static_cast<std::byte>(1u << bit % 8);
        CHECK_FALSE(read_frame_header(out.data(), 1));
    }
}

TEST_CASE("what is no frame of this version is refused by the byte that says so") {
    auto out = written(some_header, 1);
    out[2] = std::byte{9};
    CHECK(read_frame_header(out.data(), 1).why().text() ==
          "at byte 2 expected version 1 of the protocol, found 9");
    const std::string http =
        "GET / HTTP/1.1\r\nHost: localhost\r\nUser-Agent: somebody else\r\n\r\n";
    REQUIRE(http.size() >= frame_header_bytes - 3);
    std::array<std::byte, frame_header_bytes> stranger{};
    for (std::size_t i = 0; i < std::min(http.size(), stranger.size()); ++i)
        stranger[i] = static_cast<std::byte>(http[i]);
    CHECK(read_frame_header(stranger.data(), 1).why().offset == 0);
    for (const unsigned type : {0u, 11u, 255u}) {
        frame_header h = some_header;
        h.type = static_cast<frame_type>(type);
        CHECK(read_frame_header(written(h, 1).data(), 1).why().offset == 3);
    }
}
