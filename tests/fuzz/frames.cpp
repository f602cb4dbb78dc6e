#include <algorithm>
#include <cstdint>
#include <vector>

#include "fuzz/fuzz.hpp"
#include "sotto/transports/message_exchange.hpp"

using namespace sotto;
using namespace sotto::detail::net;

// A link is given any bytes, in pieces of any size, while receives are posted and messages sent:
// no memory but that of receives is written, and none beyond the budget is taken.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    fuzz::input in(data, size);
    constexpr std::int64_t budget = 4096;
    message_exchange ranks("fuzz", 0, 2);
    ranks.connect(1, {0, 1, 2, budget});
    message_link& link = *ranks.link_to(1);

    const auto receives = in.number(1) % 8;
    constexpr std::size_t room = 300;
    std::vector<bytes> memory(receives, bytes(room, std::byte{0xEE}));
    std::vector<transfer*> posted;
    for (std::uint64_t i = 0; i < receives; ++i) {
        const auto use = static_cast<std::size_t>(in.number(2)) % room;
        posted.push_back(&ranks.receive(i % 2 == 0 ? 1 : any_rank,
                                        {static_cast<std::uint32_t>(i % 3), 0, 0},
                                        mutable_byte_view(memory[i]).first(use)));
    }
    const bytes own(in.number(2) % 8192);
    ranks.send(1, {7, 0, 0}, own);

    byte_view left = in.rest();
    bool well = true;
    while (well && !left.empty()) {
        for (const byte_view piece : link.output()) (void)piece;
        std::size_t wanted = 1 + std::to_integer<std::size_t>(left[0]) * 16;
        left = left.subspan(1);
        std::size_t count = 0;
        for (const mutable_byte_view piece : link.input()) {
            const std::size_t part = std::min({piece.size(), wanted, left.size()});
            std::copy_n(left.begin(), part, piece.begin());
            left = left.subspan(part);
            wanted -= part;
            count += part;
        }
        well = !link.received(count);
    }
    for (std::size_t i = 0; i < posted.size(); ++i) {
        const auto use = static_cast<std::size_t>(posted[i]->size);
        fuzz::require(
            std::all_of(memory[i].begin() + static_cast<std::ptrdiff_t>(use), memory[i].end(),
                        [](std::byte b) { return b == std::byte{0xEE}; }),
            "nothing is written beyond a receive's memory");
        if (posted[i]->reached == transfer::stage::complete)
            fuzz::require(posted[i]->ended.bytes <= posted[i]->size,
                          "a message that is complete fits");
    }
    return 0;
}
