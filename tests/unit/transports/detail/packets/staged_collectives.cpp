#include "sotto/transports/detail/packets/staged_collectives.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <stdexcept>
#include <type_traits>
#include <utility>
#include <vector>

#include "sotto/core/bytes.hpp"
#include "sotto/core/errors.hpp"

using namespace sotto;
using namespace sotto::detail::net;

namespace {

// Calls that are complete once all ranks have made them; the first one stands for making the calls
// possible, as the library's own.
class made_up_calls {
public:
    struct world {
        std::vector<made_up_calls*> ranks;
        std::vector<int> calls_made;
    };

    made_up_calls(world& all, int rank) : all_(&all), rank_(rank) { ++made(); }
    made_up_calls(made_up_calls&& other) noexcept
        : all_(other.all_), rank_(other.rank_), in_flight_(other.in_flight_) {
        all_->ranks[static_cast<std::size_t>(rank_)] = this;
    }

    bool done() {
        const std::vector<int>& calls = all_->calls_made;
        if (in_flight_ &&
            std::all_of(calls.begin(), calls.end(), [&](int count) { return count == made(); })) {
            for (made_up_calls* const rank : all_->ranks) rank->carry_out();
            for (made_up_calls* const rank : all_->ranks) rank->in_flight_ = false;
        }
        return !in_flight_;
    }

    void barrier() { begin(); }
    void broadcast(mutable_byte_view values, int root) {
        begin();
        values_ = values;
        root_ = root;
    }
    void all_gather(const int& own, std::span<int> all) {
        begin();
        number_ = &own;
        numbers_ = all;
    }
    void all_gather(byte_view own, std::span<const int> lengths, mutable_byte_view all, int apart) {
        begin();
        own_ = own;
        lengths_ = lengths;
        values_ = all;
        apart_ = apart;
    }

private:
    int& made() { return all_->calls_made[static_cast<std::size_t>(rank_)]; }
    made_up_calls& of(int rank) { return *all_->ranks[static_cast<std::size_t>(rank)]; }
    void carry_out() {
        if (root_ >= 0) {
            const byte_view from = of(root_).values_;
            REQUIRE(from.size() == values_.size());  // as libraries require it
            std::copy(from.begin(), from.end(), values_.begin());
        }
        for (std::size_t r = 0; r < numbers_.size(); ++r)
            numbers_[r] = *of(static_cast<int>(r)).number_;
        for (std::size_t r = 0; r < lengths_.size(); ++r) {
            const byte_view from = of(static_cast<int>(r)).own_;
            REQUIRE(static_cast<int>(from.size()) == lengths_[r]);
            std::copy(from.begin(), from.end(),
                      values_.begin() + static_cast<std::ptrdiff_t>(r) * apart_);
        }
    }

    void begin() {
        REQUIRE_FALSE(in_flight_);
        in_flight_ = true;
        ++made();
        root_ = -1;
        numbers_ = {};
        lengths_ = {};
    }

    world* all_;
    int rank_;
    bool in_flight_ = true;
    int root_ = -1;
    int apart_ = 0;
    mutable_byte_view values_;
    byte_view own_;
    const int* number_ = nullptr;
    std::span<int> numbers_;
    std::span<const int> lengths_;
};

template <class Collective>
struct ranks {
    made_up_calls::world world;
    std::vector<std::unique_ptr<Collective>> all;

    template <class... From>
    explicit ranks(int size, const From&... from) {
        world.ranks.resize(static_cast<std::size_t>(size));
        world.calls_made.resize(world.ranks.size());
        for (int rank = 0; rank < size; ++rank)
            if constexpr (std::is_same_v<Collective, staged_broadcast<made_up_calls>>)
                all.push_back(
                    std::make_unique<Collective>(made_up_calls(world, rank), from..., rank, size));
            else
                all.push_back(std::make_unique<Collective>(made_up_calls(world, rank), from...));
    }

    Collective& operator[](std::size_t rank) { return *all[rank]; }

    bool advance() {
        bool complete = true;
        for (auto& one : all) complete = one->advance() && complete;
        return complete;
    }
};

bytes of(std::size_t size, int value) {
    return bytes(size, static_cast<std::byte>(value));
}

}  // namespace

TEST_CASE("a barrier is complete once all have started it, again and again") {
    ranks<staged_barrier<made_up_calls>> gates(3);
    CHECK(gates.advance());
    for (int round = 0; round < 3; ++round) {
        gates[0].start();
        CHECK_THROWS_AS(gates[0].start(), std::logic_error);
        gates[2].start();
        CHECK_FALSE(gates[0].advance());
        CHECK_FALSE(gates[0].complete());
        CHECK(gates[0].busy());
        gates[1].start();
        while (!gates.advance()) {}
        CHECK_FALSE(gates[0].busy());
    }
}

TEST_CASE("a broadcast touches the caller's memory in start and advance alone, and counts") {
    ranks<staged_broadcast<made_up_calls>> all(3, std::int64_t{10}, 1);
    for (const std::size_t size : {10u, 3u, 0u}) {
        std::vector<bytes> values{of(size, 1), of(size, 2), of(size, 3)};
        for (std::size_t rank = 0; rank < 3; ++rank) all[rank].start(values[rank]);
        std::fill(values[1].begin(), values[1].end(), std::byte{9});  // the root's has left
        while (all[0].busy() || all[1].busy() || all[2].busy())
            for (std::size_t rank = 0; rank < 3; ++rank) (void)all[rank].move_on();
        CHECK(values[0] == of(size, 1));  // has not come yet
        CHECK(all.advance());
        CHECK(values[0] == of(size, 2));
        CHECK(values[2] == of(size, 2));
        CHECK(values[1] == of(size, 9));
        all[0].forget();
    }
    CHECK(all[1].carried().bytes_sent == 26);
    CHECK(all[0].carried().bytes_received == 13);
    CHECK(all[0].carried().bytes_sent == 0);
}

TEST_CASE("a broadcast to memory of another size is refused, and does not touch it") {
    ranks<staged_broadcast<made_up_calls>> all(2, std::int64_t{10}, 0);
    bytes from = of(8, 1), to = of(7, 2);
    all[0].start(from);
    all[1].start(to);
    while (all[0].busy() || all[1].busy())
        for (std::size_t rank = 0; rank < 2; ++rank) (void)all[rank].move_on();
    CHECK(all[0].advance());
    CHECK_THROWS_WITH_AS((void)all[1].advance(),
                         "broadcast: rank 0 sent 8 bytes where 7 were expected", mismatch);
    CHECK(to == of(7, 2));
}

TEST_CASE("what is gathered has each rank's own length") {
    ranks<staged_all_gather<made_up_calls>> all(3, std::int64_t{10}, 3);
    for (std::size_t round = 0; round < 4; ++round) {
        for (std::size_t rank = 0; rank < 3; ++rank)
            all[rank].start(of((rank * 5 + round) % 11, static_cast<int>(rank)));
        while (!all.advance()) {}
        for (std::size_t at = 0; at < 3; ++at)
            for (std::size_t rank = 0; rank < 3; ++rank) {
                const byte_view block = all[at].block_of(static_cast<int>(rank));
                CHECK(bytes(block.begin(), block.end()) ==
                      of((rank * 5 + round) % 11, static_cast<int>(rank)));
            }
    }
    const traffic& carried = all[0].carried();
    CHECK(carried.bytes_sent == 2 * (0 + 1 + 2 + 3));
    CHECK(carried.bytes_received == (5 + 6 + 7 + 8) + (10 + 0 + 1 + 2));
    CHECK(carried.messages_received == 8);
}
