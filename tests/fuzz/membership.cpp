#include "sotto/transports/detail/messaging/membership.hpp"

#include <algorithm>
#include <array>
#include <cstdint>

#include "fuzz/fuzz.hpp"

using namespace sotto;
using namespace sotto::detail::net;

// A rank hears any bytes from another: it goes on, and blames nobody but who sent them or whom they
// name.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    fuzz::input in(data, size);
    const time_point start{};
    membership state(
        0, 3, 0, {}, [](int, int) { return std::uint64_t{0}; }, start);
    constexpr std::array<int, 3> everyone{0, 1, 2};
    membership::ballot& ballot = state.open(everyone, 0);
    state.vote(ballot, in.number(1) % 2 == 0);
    byte_view left = in.rest();
    while (!left.empty()) {
        const auto choice = std::to_integer<std::size_t>(left[0]);
        left = left.subspan(1);
        const std::size_t part = std::min(left.size(), choice / 2 * 8);
        state.received(1 + static_cast<int>(choice % 2), left.first(part), start);
        state.count_votes();
        left = left.subspan(part);
    }
    fuzz::require(ballot.completed <= 1 || state.first_failure(),
                  "no poll is complete without the own vote");
    (void)state.settled();
    return 0;
}
