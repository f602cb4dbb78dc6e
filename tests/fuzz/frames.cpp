#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <span>

#include "fuzz/fuzz.hpp"
#include "sotto/transports/detail/messaging/message_exchange.hpp"

using namespace sotto;
using namespace sotto::detail::net;

namespace {

constexpr std::int64_t budget = 4096;
constexpr std::size_t staging = 256;  // so small that inputs fill it
constexpr std::int64_t part = 64;
constexpr std::size_t receives_max = 8, room = 300, own_max = 8192;

constexpr auto untouched = [] {
    std::array<std::byte, room> bytes;
    bytes.fill(std::byte{0xEE});
    return bytes;
}();

// Every input finds the same, and none takes memory for it: that would cost more than the link.
std::array<std::array<std::byte, room>, receives_max> memory;
constexpr std::array<std::byte, own_max> own{};

/// Rank 0, whose link to rank 1 is given the input.
class world {
public:
    world(bool keeps, bool in_parts) : keeps_(keeps) {
        link_terms terms{0, 1, 2, budget, staging};
        if (in_parts) terms.part = part;
        ranks_.connect(1, terms);
    }

    void receive(std::size_t size) {
        const std::size_t i = count_++;
        memory[i] = untouched;
        posted_[i] =
            &ranks_.receive(i % 2 == 0 ? 1 : any_rank, {static_cast<std::uint32_t>(i % 3), 0, 0},
                            mutable_byte_view(memory[i]).first(size));
    }

    /// Of the same size as the first one, while there is memory.
    void receive_more() {
        if (count_ > 0 && count_ < receives_max)
            receive(static_cast<std::size_t>(posted_[0]->size));
    }

    void send(std::size_t size) { ranks_.send(1, {7, 0, 0}, byte_view(own).first(size)); }

    void write() {
        std::size_t size = 0;
        for (const byte_view piece : link().output()) size += piece.size();
        link().written(size);
    }

    /// Hands in what there is room for, at most `wanted` bytes; false if that was no frame.
    bool read(std::size_t wanted, byte_view& from) {
        std::size_t count = 0;
        for (const mutable_byte_view piece : link().input()) {
            const std::size_t size = std::min({piece.size(), wanted - count, from.size()});
            if (size > 0) std::memcpy(piece.data(), from.data(), size);
            from = from.subspan(size);
            count += size;
        }
        if (link().received(count, keeps_ ? detail::net::keeps_all : 0)) return false;
        if (!link().halted()) return true;
        // Nobody posts the receive that it halts for: then it is kept after all.
        const bool well = !link().received(0);
        fuzz::require(!well || !link().halted(), "who keeps everything never halts");
        return well;
    }

    void check_queue() const {
        fuzz::require(ranks_.queued_from(1) <= budget, "messages without a receive fit the budget");
    }

    void check() const {
        for (std::size_t i = 0; i < count_; ++i) {
            const auto use = static_cast<std::size_t>(posted_[i]->size);
            fuzz::require(std::memcmp(memory[i].data() + use, untouched.data(), room - use) == 0,
                          "nothing is written beyond a receive's memory");
            if (posted_[i]->reached == transfer::stage::complete)
                fuzz::require(posted_[i]->ended.bytes <= posted_[i]->size,
                              "a message that is complete fits");
        }
    }

private:
    framed_connection& link() { return *ranks_.link_to(1); }

    message_exchange ranks_{"fuzz", 0, 2};
    bool keeps_;
    std::array<transfer*, receives_max> posted_{};
    std::size_t count_ = 0;
};

}  // namespace

// A link is given any bytes, in pieces of any size, while receives are posted and messages sent:
// no memory but that of receives is written, and none beyond the budget is taken.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    fuzz::input in(data, size);
    const auto first = in.number(1);
    world ranks(first % 16 < 8, first / 16 % 2 != 0);
    for (std::uint64_t i = 0; i < first % 8; ++i)
        ranks.receive(static_cast<std::size_t>(in.number(2)) % room);
    ranks.send(in.number(2) % own_max);

    byte_view left = in.rest();
    for (bool well = true; well && !left.empty();) {
        const auto choice = std::to_integer<std::size_t>(left[0]);
        left = left.subspan(1);
        const std::size_t steps = choice % 128;
        if (choice >= 128) ranks.write();
        if (steps == 0)
            ranks.receive_more();
        else
            well = ranks.read(steps < 32 ? steps : 16 * (steps - 30), left);
        ranks.check_queue();
    }
    ranks.check();
    return 0;
}
