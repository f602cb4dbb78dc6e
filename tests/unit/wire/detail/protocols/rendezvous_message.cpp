#include "sotto/wire/detail/protocols/rendezvous_message.hpp"

#include <doctest/doctest.h>

#include <cstddef>
#include <cstdint>

using namespace sotto::wire;
using namespace sotto::detail::wire;

namespace {

const rendezvous_message some{saying::refused, refusal::agreed, 3, 2, 64, 65, 0x2122232425262728};

std::int64_t fault_at(const rendezvous_message& w) {
    return read_rendezvous_message(written_rendezvous_message(w).data()).why().offset;
}

}  // namespace

TEST_CASE("a rendezvous message comes back as it was, and every flipped bit is found") {
    const auto out = written_rendezvous_message(some);
    const auto read = read_rendezvous_message(out.data());
    REQUIRE(read);
    CHECK(*read == some);
    for (std::size_t bit = 0; bit < 8 * out.size(); ++bit) {
        auto flipped = out;
        flipped[bit / 8] ^= static_cast<std::byte>(1u << bit % 8);
        CHECK_FALSE(read_rendezvous_message(flipped.data()));
    }
}

TEST_CASE("a rendezvous message that there is not is refused") {
    CHECK(fault_at({static_cast<saying>(7)}) == 4);
    CHECK(fault_at({saying::refused, static_cast<refusal>(11)}) == 5);
    CHECK(fault_at({saying::refused, refusal::agreed, agreed_values}) == 6);
}

TEST_CASE("a refusal has a reason, and nothing else has one") {
    CHECK(fault_at({saying::refused, refusal::none}) == 5);
    CHECK(fault_at({saying::go, refusal::lost}) == 5);
}
