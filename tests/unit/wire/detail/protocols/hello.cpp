#include "sotto/wire/detail/protocols/hello.hpp"

#include <doctest/doctest.h>

#include <array>
#include <cstddef>
#include <cstdint>

using namespace sotto;
using namespace sotto::wire;
using namespace sotto::detail::wire;

namespace {

hello some_hello() {
    hello h{1, 3, connection_purpose::control, 5, 8, 2, {}, 0x1112131415161718, 77, {}};
    h.listens.port = 29501;
    for (std::size_t i = 0; i < 16; ++i) h.listens.address[i] = static_cast<std::byte>(i + 1);
    for (std::size_t i = 0; i < agreed_values; ++i) h.agreed[i] = 1000 + i;
    return h;
}

template <class Bytes, class Read>
void require_no_flip_passes(const Bytes& whole, Read read) {
    for (std::size_t bit = 0; bit < 8 * whole.size(); ++bit) {
        Bytes out = whole;
        out[bit / 8] ^= static_cast<std::byte>(1u << bit % 8);
        CHECK_FALSE(read(out.data()));
    }
}

}  // namespace

TEST_CASE("a hello comes back as it was, and every flipped bit is found") {
    const auto out = written_hello(some_hello());
    static_assert(hello_bytes == 112);
    const auto read = read_hello(out.data());
    REQUIRE(read);
    CHECK(*read == some_hello());
    require_no_flip_passes(out, [](const std::byte* from) { return read_hello(from); });
}

TEST_CASE("a hello of another version is read, so that an answer can name both") {
    hello h = some_hello();
    h.version_lowest = 200;
    h.version_highest = 201;
    const auto read = read_hello(written_hello(h).data());
    REQUIRE(read);
    CHECK(read->version_highest == 201);
}

TEST_CASE("a purpose that there is not is refused") {
    hello h = some_hello();
    h.purpose = static_cast<connection_purpose>(3);
    CHECK(read_hello(written_hello(h).data()).why().offset == 6);
}

TEST_CASE("a hello of no incarnation is no hello") {
    hello h;
    CHECK_FALSE(read_hello(written_hello(h).data()));
    h.incarnation = 1;
    CHECK(read_hello(written_hello(h).data()));
}
