#include "sotto/transports/detail/messaging/message_exchange.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <stdexcept>
#include <vector>

#include "sotto/core/size_only.hpp"
#include "sotto/core/random.hpp"
#include "sotto/wire/detail/protocols/frame.hpp"
#include "support/effort.hpp"
#include "support/allocation_count.hpp"

using namespace sotto;
using namespace sotto::detail::net;

namespace {

// Ranks whose links are joined by pipes that move any number of bytes at a time, in any order.
class piped_world {
public:
    explicit piped_world(int size, std::int64_t budget, std::uint64_t seed,
                         bool may_lack_content = false)
        : random_(seed) {
        // From one header's on, all that is read at once behind a message will do.
        const std::size_t staging = seed % 2 == 0 ? link_terms{}.staging : 64 + seed;
        const std::int64_t part =
            seed % 3 == 0 ? link_terms{}.part : static_cast<std::int64_t>(16 + 40 * seed);
        for (int rank = 0; rank < size; ++rank)
            ranks_.push_back(std::make_unique<message_exchange>("piped", rank, size));
        for (int a = 0; a < size; ++a)
            for (int b = 0; b < size; ++b)
                if (a != b)
                    at(a).connect(b, {7, seed_of(a, b), seed_of(b, a), budget, staging,
                                      may_lack_content, part});
    }

    message_exchange& at(int rank) { return *ranks_[static_cast<std::size_t>(rank)]; }
    random_stream& random() { return random_; }

    std::size_t in_pipes() const {
        std::size_t sum = 0;
        for (const auto& [ends, pipe] : pipes_) sum += pipe.size();
        return sum;
    }

    /// Moves some bytes from a link into its pipe, or out of a pipe; false if nothing was there.
    bool move(int from, int to, std::size_t most, std::int64_t keeps = keeps_all) {
        bool moved = false;
        bytes& pipe = pipes_[{from, to}];
        if (framed_connection& out = *at(from).link_to(to); out.has_output()) {
            std::size_t count = 0;
            for (const byte_view piece : out.output()) {
                const std::size_t part = std::min(piece.size(), most - count);
                pipe.insert(pipe.end(), piece.begin(),
                            piece.begin() + static_cast<std::ptrdiff_t>(part));
                count += part;
            }
            out.written(count);
            moved = count > 0;
        }
        framed_connection& in = *at(to).link_to(from);
        std::size_t count = 0;
        for (const mutable_byte_view room : in.input()) {
            const std::size_t part = std::min({room.size(), most - count, pipe.size()});
            std::copy_n(pipe.begin(), part, room.begin());
            pipe.erase(pipe.begin(), pipe.begin() + static_cast<std::ptrdiff_t>(part));
            count += part;
        }
        const auto why = in.received(count, keeps);
        if (may_be_refused) {
            refused = refused || why;
            return false;
        }
        if (why) MESSAGE(why->text());
        REQUIRE_FALSE(why);
        return moved || count > 0;
    }

    bool may_be_refused = false, refused = false;  // what comes

    /// Until nothing moves any more.
    void settle() {
        for (bool moved = true; moved;) {
            moved = false;
            for (int a = 0; a < static_cast<int>(ranks_.size()); ++a)
                for (int b = 0; b < static_cast<int>(ranks_.size()); ++b)
                    if (a != b) moved = move(a, b, 1 << 20) || moved;
        }
    }

private:
    static std::uint64_t seed_of(int from, int to) {
        return static_cast<std::uint64_t>(from * 100 + to);
    }

    random_stream random_;
    std::vector<std::unique_ptr<message_exchange>> ranks_;
    std::map<std::pair<int, int>, bytes> pipes_;
};

bytes content_of(std::uint64_t number, std::size_t size) {
    bytes content(size);
    random_stream random(number);
    for (std::byte& b : content) b = static_cast<std::byte>(random.below(256));
    return content;
}

struct posted {
    transfer* of;
    std::uint64_t number;
    bytes memory;
};

}  // namespace

TEST_CASE("whatever the order of sends, receives and bytes, every message arrives once and whole") {
    for (std::uint64_t seed = 0; seed < static_cast<std::uint64_t>(testing::tries(60, 9)); ++seed) {
        const std::int64_t budget = seed % 3 == 0 ? 4 << 20 : seed % 3 == 1 ? 20000 : 3000;
        constexpr int size = 3;
        piped_world world(size, budget, seed);
        random_stream& random = world.random();
        constexpr std::size_t messages = 40;
        // Message m of a pair has tag m % 3; the j-th receive of a tag gets the j-th such message.
        const auto tag_of = [](std::size_t m) {
            return tag{9, static_cast<std::uint32_t>(m % 3), 5};
        };
        const auto size_of = [&](int from, int to, std::size_t m) {
            random_stream sizes(seed * 1000 + static_cast<std::uint64_t>(from * 7 + to));
            const auto choice = sizes.split(m).below(4);
            return static_cast<std::size_t>(
                choice == 0 ? 0 : sizes.split(m + 999).below(choice == 1 ? 100 : 9000));
        };
        const auto number_of = [](int from, int to, std::size_t m) {
            return static_cast<std::uint64_t>(from * 1000 + to * 100) * 1000 + m;
        };
        std::map<std::pair<int, int>, std::vector<posted>> sends, receives;
        std::map<std::pair<int, int>, std::vector<std::size_t>> to_receive;
        for (int a = 0; a < size; ++a)
            for (int b = 0; b < size; ++b) {
                sends[{a, b}].reserve(messages);
                receives[{a, b}].reserve(messages);
                // Receives in an order of their own, but for those of one tag.
                std::vector<std::size_t>& order = to_receive[{a, b}];
                std::array<std::size_t, 3> next{0, 1, 2};
                while (order.size() < messages) {
                    std::size_t& m = next[random.below(3)];
                    if (m >= messages) continue;
                    order.push_back(m);
                    m += 3;
                }
            }
        std::size_t steps = 0;
        const auto all_posted = [&] {
            for (auto& [ends, list] : sends)
                if (list.size() < messages || receives[ends].size() < messages) return false;
            return true;
        };
        while (!all_posted()) {
            REQUIRE(++steps < 200000);
            const int a = static_cast<int>(random.below(size));
            const int b = static_cast<int>(random.below(size));
            switch (random.below(4)) {
                case 0:
                    if (auto& list = sends[{a, b}]; list.size() < messages) {
                        const std::size_t m = list.size();
                        list.push_back(
                            {nullptr, 0, content_of(number_of(a, b, m), size_of(a, b, m))});
                        list.back().of = &world.at(a).send(b, tag_of(m), list.back().memory);
                    }
                    break;
                case 1:
                    if (auto& list = receives[{a, b}]; list.size() < messages) {
                        const std::size_t m = to_receive[{a, b}][list.size()];
                        list.push_back({nullptr, m, bytes(size_of(a, b, m) + random.below(3))});
                        list.back().of = &world.at(b).receive(a, tag_of(m), list.back().memory);
                    }
                    break;
                default:
                    if (a != b) world.move(a, b, 1 + random.below(5000));
            }
        }
        world.settle();
        CHECK(world.in_pipes() == 0);
        for (auto& [ends, list] : receives) {
            const auto [a, b] = ends;
            for (const posted& p : sends[ends]) {
                REQUIRE(p.of->reached == transfer::stage::complete);
                world.at(a).finish(*p.of);
            }
            for (const posted& p : list) {
                REQUIRE(p.of->reached == transfer::stage::complete);
                const completion ended = world.at(b).finish(*p.of);
                const bytes expected =
                    content_of(number_of(a, b, p.number), size_of(a, b, p.number));
                CHECK(ended.source == a);
                REQUIRE(ended.bytes == static_cast<std::int64_t>(expected.size()));
                CHECK(std::equal(expected.begin(), expected.end(), p.memory.begin()));
            }
            if (a != b) {
                CHECK(world.at(b).link_to(a)->between_frames());
            }
        }
    }
}

TEST_CASE("a peer that takes no bytes leaves sends open, which take no memory") {
    constexpr std::size_t messages = 500;
    piped_world world(2, 65536, 1);
    const bytes content = content_of(1, 3000);  // 20 are within the budget
    std::vector<bytes> rooms(messages, bytes(content.size()));
    std::vector<transfer*> sends(messages), receives(messages);
    const auto send_all = [&] {
        for (std::size_t m = 0; m < messages; ++m)
            sends[m] = &world.at(0).send(1, {9, 0, m}, content);
        // Asking for what is to be written changes nothing.
        for (int turn = 0; turn < 3; ++turn) (void)world.at(0).link_to(1)->output();
    };
    const auto receive_all = [&] {
        for (std::size_t m = 0; m < messages; ++m)
            receives[m] = &world.at(1).receive(0, {9, 0, m}, rooms[m]);
        world.settle();
        for (std::size_t m = 0; m < messages; ++m) {
            REQUIRE(receives[m]->reached == transfer::stage::complete);
            CHECK(rooms[m] == content);
            world.at(0).finish(*sends[m]);
            world.at(1).finish(*receives[m]);
        }
    };
    send_all();  // makes room for so many
    receive_all();
    const support::allocation_count taken;
    send_all();
    const std::int64_t count = taken.on_this_thread();
    CHECK(count == 0);
    for (const transfer* const t : sends) CHECK(t->reached == transfer::stage::posted);
    receive_all();
}

TEST_CASE(
    "a peer that receives nothing is sent its budget, and then one message for each receive") {
    constexpr std::size_t messages = 300;
    constexpr std::int64_t budget = 65536, overhead = 256;
    for (const std::int64_t size : {0, 1, 1000, 20000, 70000}) {
        piped_world world(2, budget, 1);
        const bytes content = content_of(2, static_cast<std::size_t>(size));
        std::vector<transfer*> sends;
        for (std::size_t m = 0; m < messages; ++m)
            sends.push_back(&world.at(0).send(1, {9, 0, m}, content));
        const auto gone = [&] {
            return std::count_if(sends.begin(), sends.end(), [](const transfer* t) {
                return t->reached == transfer::stage::complete;
            });
        };
        world.settle();
        const std::int64_t unasked = budget / (size + overhead);
        CHECK(gone() == std::min<std::int64_t>(unasked, messages));
        bytes room(content.size());
        for (std::size_t m = 0; m < messages; ++m) {
            transfer& t = world.at(1).receive(0, {9, 0, m}, room);
            world.settle();
            REQUIRE(t.reached == transfer::stage::complete);
            CHECK(room == content);
            CHECK(gone() == std::min<std::int64_t>(
                                std::max(unasked, static_cast<std::int64_t>(m) + 1), messages));
        }
    }
}

TEST_CASE("a long message that no receive waits for stays outside until it is needed") {
    constexpr std::int64_t keeps = 4096;
    constexpr std::size_t most = 1 << 20;
    const bytes content = content_of(3, 300000), other = content_of(4, 100);
    for (const bool is_asked_for : {true, false}) {
        CAPTURE(is_asked_for);
        piped_world world(2, 1 << 20, 6);  // messages go at once
        framed_connection& link = *world.at(1).link_to(0);
        bytes room(content.size()), other_room(other.size());
        transfer& behind = world.at(1).receive(0, {9, 0, 2}, other_room);
        world.at(0).send(1, {9, 0, 1}, content);
        world.at(0).send(1, {9, 0, 2}, other);
        world.move(0, 1, most, keeps);
        REQUIRE(link.halted());
        const std::size_t outside = world.in_pipes();
        CHECK(outside > 0);  // most of it: the link has read no more than what it stages

        if (is_asked_for) {
            transfer& wanted = world.at(1).receive(0, {9, 0, 1}, room);
            REQUIRE_FALSE(link.received(0, keeps));
            CHECK_FALSE(link.halted());
            world.settle();
            CHECK(wanted.reached == transfer::stage::complete);
            CHECK(room == content);
        } else {
            // Whatever ends elsewhere begins the count anew.
            const auto asked_until_kept = [&] {
                int asked = 0;
                for (; link.halted() && asked < 1000; ++asked)
                    REQUIRE_FALSE(link.received(0, keeps));
                return asked;
            };
            for (int asked = 0; asked < 20; ++asked) REQUIRE_FALSE(link.received(0, keeps));
            bytes own(1);
            transfer& to_self = world.at(1).receive(1, {9, 0, 3}, own);
            world.at(1).send(1, {9, 0, 3}, own);
            REQUIRE(to_self.reached == transfer::stage::complete);
            CHECK(asked_until_kept() > 32);
            world.settle();
            transfer& wanted = world.at(1).receive(0, {9, 0, 1}, room);
            CHECK(wanted.reached == transfer::stage::complete);
            CHECK(room == content);
        }
        CHECK(behind.reached == transfer::stage::complete);
        CHECK(other_room == other);
        CHECK(world.in_pipes() == 0);
    }
}

TEST_CASE("a long message is kept after many asks, whatever else ends meanwhile") {
    constexpr std::int64_t keeps = 4096;
    piped_world world(2, 1 << 20, 2);
    framed_connection& link = *world.at(1).link_to(0);
    const bytes content = content_of(3, 300000);
    world.at(0).send(1, {9, 0, 1}, content);
    world.move(0, 1, 1 << 20, keeps);
    REQUIRE(link.halted());
    bytes own(1);
    int asked = 0;
    for (; link.halted() && asked < 10000; ++asked) {
        transfer& to_self = world.at(1).receive(1, {9, 0, 3}, own);
        world.at(1).finish(world.at(1).send(1, {9, 0, 3}, own));
        world.at(1).finish(to_self);
        REQUIRE_FALSE(link.received(0, keeps));
    }
    CHECK(asked == 1025);
}

TEST_CASE("a header that announces more than any memory holds is refused, and not waited for") {
    constexpr std::uint64_t seed = 5;
    for (const std::uint64_t size :
         {std::uint64_t{1} << 62, std::uint64_t{1} << 63, ~std::uint64_t{0}}) {
        message_exchange exchange("forged", 0, 2);
        exchange.connect(1, {7, 4, seed, 65536});
        framed_connection& link = *exchange.link_to(1);
        std::array<std::byte, detail::wire::frame_header_bytes> header;
        detail::wire::write_frame_header({.epoch = 7, .size = size}, seed, header.data());
        const auto room = link.input()[1];
        REQUIRE(room.size() >= header.size());
        std::copy(header.begin(), header.end(), room.begin());
        CHECK(link.received(header.size()));
    }
}

TEST_CASE("a receive from anybody whose sender goes halfway gets what others have sent meanwhile") {
    const bytes first = content_of(5, 9000), second = content_of(6, 8000),
                third = content_of(7, 7000);
    for (const std::int64_t budget : {std::int64_t{1} << 20, std::int64_t{3000}})
        for (const bool is_whole : {true, false}) {
            CAPTURE(budget);
            CAPTURE(is_whole);
            piped_world world(3, budget, 2);
            message_exchange& server = world.at(0);
            const tag label{6, 0, 0};
            std::vector<bytes> rooms(3, bytes(9000));
            transfer& older = server.receive(any_rank, label, rooms[0]);
            world.at(1).send(0, label, first);
            world.move(1, 0, 100);  // its header, or what announces it
            world.move(0, 1, 100);
            world.move(1, 0, 100);
            REQUIRE(older.reached == transfer::stage::posted);
            // Either the second message is there, or it meets the receive that is as old as before.
            world.at(2).send(0, label, second);
            if (is_whole) {
                for (bool moved = true; moved;) {
                    moved = world.move(2, 0, 1 << 20);
                    moved = world.move(0, 2, 1 << 20) || moved;
                }
            } else {
                world.move(2, 0, 1000);
            }
            world.at(2).send(0, label, third);
            server.disconnect(1);
            CHECK(older.reached == (is_whole && budget > 3000 ? transfer::stage::complete
                                                              : transfer::stage::posted));
            transfer& younger = server.receive(any_rank, label, rooms[1]);
            for (bool moved = true; moved;) {
                moved = world.move(2, 0, 1 << 20);
                moved = world.move(0, 2, 1 << 20) || moved;
            }
            REQUIRE(older.reached == transfer::stage::complete);
            REQUIRE(younger.reached == transfer::stage::complete);
            CHECK(older.ended.source == 2);
            CHECK(older.ended.bytes == 8000);
            CHECK(std::equal(second.begin(), second.end(), rooms[0].begin()));
            CHECK(std::equal(third.begin(), third.end(), rooms[1].begin()));
        }
}

TEST_CASE("a receive whose message does not come after all is as old as it was") {
    const bytes first = content_of(5, 9000), second = content_of(6, 8000);
    piped_world world(3, 1 << 20, 2);
    message_exchange& server = world.at(0);
    const tag label{6, 0, 0};
    bytes room(9000), other_room(9000);
    transfer& older = server.receive(any_rank, label, room);
    world.at(1).send(0, label, first);
    world.move(1, 0, 5000);
    transfer& younger = server.receive(any_rank, label, other_room);
    server.disconnect(1);
    world.at(2).send(0, label, second);
    while (world.move(2, 0, 1 << 20)) {}
    CHECK(older.reached == transfer::stage::complete);
    CHECK(younger.reached == transfer::stage::posted);
}

TEST_CASE("of a rank that is gone nothing is received that came behind what does not come") {
    const bytes early = content_of(5, 100), large = content_of(6, 9000), late = content_of(7, 200);
    for (const bool is_granted : {false, true}) {
        CAPTURE(is_granted);
        piped_world world(2, 4000, 2);
        message_exchange& here = world.at(0);
        const tag label{6, 0, 0}, other{6, 1, 0};
        bytes room(9000);
        world.at(1).send(0, label, early);
        world.at(1).send(0, label, large);  // beyond the budget: announced
        world.at(1).send(0, label, late);
        world.at(1).send(0, other, late);
        while (world.move(1, 0, 1 << 20)) {}
        transfer& before = here.receive(1, label, room);
        REQUIRE(before.reached == transfer::stage::complete);
        here.finish(before);
        transfer* const lost = is_granted ? &here.receive(1, label, room) : nullptr;
        here.disconnect(1);
        if (lost) CHECK(lost->reached == transfer::stage::lost);
        CHECK_FALSE(here.holds(1, label));
        CHECK(here.holds(1, other));  // another order
        CHECK(here.queued_from(1) == 200);
    }
}

TEST_CASE("what had come before that is received") {
    piped_world world(2, 4000, 2);
    const bytes early = content_of(5, 100), large = content_of(6, 9000), late = content_of(7, 3500);
    const tag label{6, 0, 0};
    world.at(1).send(0, label, early);
    world.at(1).send(0, label, large);
    world.at(1).send(0, label, late);
    for (int i = 0; i < 6; ++i) world.move(1, 0, 100);  // the last is begun
    world.at(0).disconnect(1);
    bytes room(9000);
    transfer& before = world.at(0).receive(1, label, room);
    REQUIRE(before.reached == transfer::stage::complete);
    CHECK(before.ended.bytes == 100);
    CHECK_FALSE(world.at(0).holds(1, label));
    CHECK(world.at(0).queued_from(1) == 0);
}

TEST_CASE("a message without content for memory that wants some leaves its receive in place") {
    const auto nothing = size_only<std::byte>(9000);
    const bytes something = content_of(6, 8000);
    const tag label{6, 0, 0};
    for (const std::int64_t budget : {std::int64_t{1} << 20, std::int64_t{3000}}) {
        CAPTURE(budget);
        piped_world world(3, budget, 2, true);
        message_exchange& server = world.at(0);
        bytes room(9000);
        transfer& due = server.receive(any_rank, label, room);
        world.at(1).send(0, label, nothing);
        world.may_be_refused = true;
        for (int turn = 0; turn < 4 && !world.refused; ++turn) {
            world.move(1, 0, 64);  // a header: what has no content cannot be copied
            world.move(0, 1, 64);
        }
        CHECK(world.refused);
        world.may_be_refused = false;
        server.disconnect(1);
        CHECK(due.reached == transfer::stage::posted);
        world.at(2).send(0, label, something);
        for (bool moved = true; moved;) {
            moved = world.move(2, 0, 1 << 20);
            moved = world.move(0, 2, 1 << 20) || moved;
        }
        CHECK(due.reached == transfer::stage::complete);
        CHECK(std::equal(something.begin(), something.end(), room.begin()));
    }
}

TEST_CASE("a receive that wants content is refused where a message without it is there") {
    const auto nothing = size_only<std::byte>(100);
    const tag label{6, 0, 0};
    piped_world world(2, 1 << 20, 2, true);
    message_exchange& receiver = world.at(1);
    world.at(0).send(1, label, nothing);
    world.move(0, 1, 64);  // its header: where it is put is nowhere
    REQUIRE_FALSE(receiver.link_to(0)->received(100));
    const bool expected = receiver.expects(0);
    bytes room(100);
    for (int again = 0; again < 2; ++again)
        CHECK_THROWS_AS(receiver.receive(0, label, room), std::logic_error);
    CHECK(receiver.expects(0) == expected);
    CHECK(receiver.receive(0, label, size_only<std::byte>(100)).reached ==
          transfer::stage::complete);
}

namespace {

// Two ranks; what rank 0 has to say to rank 1 is bytes that may be tampered with.
struct in_parts {
    message_exchange sender{"parts", 0, 2}, receiver{"parts", 1, 2};
    bytes content = bytes(250), got, stream;
    transfer* receive = nullptr;

    explicit in_parts(std::size_t room = 250) : got(room) {
        sender.connect(1, {.epoch = 7, .seed_out = 1, .seed_in = 2, .part = 100});
        receiver.connect(0, {.epoch = 7, .seed_out = 2, .seed_in = 1, .part = 100});
        for (std::size_t i = 0; i < content.size(); ++i) content[i] = std::byte(i);
        receive = &receiver.receive(0, {1, 2, 3}, got);
        sender.send(1, {1, 2, 3}, content);
        framed_connection& link = *sender.link_to(1);
        while (link.has_output()) {
            std::size_t count = 0;
            for (const byte_view piece : link.output()) {
                stream.insert(stream.end(), piece.begin(), piece.end());
                count += piece.size();
            }
            link.written(count);
        }
    }

    std::optional<detail::fault> read() {
        framed_connection& link = *receiver.link_to(0);
        for (std::size_t at = 0; at < stream.size();) {
            std::size_t count = 0;
            for (const mutable_byte_view room : link.input()) {
                const std::size_t some = std::min(room.size(), stream.size() - at - count);
                std::copy_n(stream.data() + at + count, some, room.data());
                count += some;
            }
            at += count;
            if (const auto why = link.received(count)) return why;
        }
        return std::nullopt;
    }

    bool has_come() const { return receive->reached == transfer::stage::complete; }
};

}  // namespace

TEST_CASE("A long message goes in parts, with a digest each") {
    in_parts of;
    REQUIRE(of.stream.size() == 3 * detail::wire::frame_header_bytes + 250);
    const std::size_t begins[] = {0, 164, 328}, sizes[] = {250, 100, 50};
    for (std::size_t k = 0; k < 3; ++k) {
        const auto header = detail::wire::read_frame_header(of.stream.data() + begins[k], 1);
        REQUIRE(header);
        CHECK(header->type ==
              (k == 0 ? detail::wire::frame_type::message : detail::wire::frame_type::part));
        CHECK(header->size == sizes[k]);
        CHECK(header->sequence == k);
    }
    CHECK_FALSE(of.read());
    CHECK(of.has_come());
    CHECK(of.got == of.content);
    CHECK(of.receiver.link_to(0)->between_frames());
}

TEST_CASE("A part that was damaged, is not the next one, or of no message, is refused") {
    if (digests_are_checked) {
        in_parts damaged;
        damaged.stream[164 + 64 + 5] ^= std::byte{1};
        const auto why = damaged.read();
        REQUIRE(why);
        CHECK(why->offset == 48);
        CHECK_FALSE(damaged.has_come());
    }
    const auto refused = [](detail::wire::frame_header header, std::size_t at) {
        in_parts of;
        of.stream.resize(at + detail::wire::frame_header_bytes);
        header.epoch = 7;
        detail::wire::write_frame_header(header, 1, of.stream.data() + at);
        const auto why = of.read();
        REQUIRE(why);
        CHECK_FALSE(of.has_come());
        return why->offset;
    };
    using enum detail::wire::frame_type;
    CHECK(refused({.type = part, .sequence = 1, .size = 99}, 164) == 32);
    CHECK(refused({.type = part, .sequence = 1, .size = 150}, 164) == 32);
    CHECK(refused({.type = part, .sequence = 2, .size = 100}, 164) == 8);
    CHECK(refused({.type = message, .sequence = 1, .size = 100}, 164) == 3);
    CHECK(refused({.type = credit, .sequence = 1}, 164) == 3);
    CHECK(refused({.type = part, .size = 100}, 0) == 3);
}

TEST_CASE("A message in parts that is too long for its receive is dropped, and not bit by bit") {
    in_parts of(249);
    framed_connection& link = *of.receiver.link_to(0);
    const bytes all = of.stream;
    of.stream.resize(detail::wire::frame_header_bytes);
    REQUIRE_FALSE(of.read());
    CHECK(link.input()[0].empty());
    CHECK(link.input()[1].size() == link_terms{}.staging);
    of.stream.assign(all.begin() + detail::wire::frame_header_bytes, all.end());
    REQUIRE_FALSE(of.read());
    CHECK(of.receive->reached == transfer::stage::too_long);
    CHECK(of.got == bytes(249));
    CHECK(link.between_frames());
}

namespace {

// A rank whose peer sends any frames, forged ones too.
struct forged_peer {
    static constexpr std::int64_t budget = 65536, overhead = 256;
    static constexpr std::uint64_t seed = 5;

    message_exchange exchange{"forged", 0, 2};
    std::uint64_t frames = 0;

    forged_peer() { exchange.connect(1, {7, 4, seed, budget}); }
    framed_connection& link() { return *exchange.link_to(1); }

    std::optional<detail::fault> read(byte_view from) {
        while (!from.empty()) {
            std::size_t count = 0;
            for (const mutable_byte_view room : link().input()) {
                const std::size_t some = std::min(room.size(), from.size());
                std::copy_n(from.begin(), some, room.begin());
                from = from.subspan(some);
                count += some;
            }
            if (const auto why = link().received(count)) return why;
        }
        return std::nullopt;
    }

    std::optional<detail::fault> read_frame(detail::wire::frame_header header,
                                            byte_view content = {}) {
        header.epoch = 7;
        header.sequence = frames++;
        if (!content.empty()) header.size = content.size();  // else as announced
        header.payload_digest = detail::wire::frame_digest(content, seed);
        bytes frame(detail::wire::frame_header_bytes);
        detail::wire::write_frame_header(header, seed, frame.data());
        frame.insert(frame.end(), content.begin(), content.end());
        return read(frame);
    }
};

}  // namespace

TEST_CASE("link: small messages beyond the budget -> refused, nothing is kept") {
    const bytes content(768);
    constexpr std::int64_t fits = forged_peer::budget / (768 + forged_peer::overhead);
    static_assert(fits * (768 + forged_peer::overhead) == forged_peer::budget);
    forged_peer peer;
    for (std::int64_t i = 0; i < fits; ++i) {
        CAPTURE(i);
        REQUIRE_FALSE(peer.read_frame({.item = static_cast<std::uint32_t>(i)}, content));
    }
    CHECK(peer.exchange.queued_from(1) == fits * 768);
    const auto why = peer.read_frame({.item = 1000});  // even an empty one
    REQUIRE(why);
    CHECK(why->offset == 32);
    CHECK(peer.exchange.queued_from(1) == fits * 768);
}

TEST_CASE("link: one message of the whole budget -> taken, one byte more -> refused") {
    const bytes content(forged_peer::budget - forged_peer::overhead + 1);
    CHECK_FALSE(forged_peer().read_frame({}, byte_view(content).first(content.size() - 1)));
    const auto why = forged_peer().read_frame({}, content);
    REQUIRE(why);
    CHECK(why->offset == 32);
}

TEST_CASE("link: a message that is received -> its bytes may be sent once more") {
    const bytes content(forged_peer::budget - forged_peer::overhead);
    forged_peer peer;
    REQUIRE_FALSE(peer.read_frame({}, content));
    bytes room(content.size());
    REQUIRE(peer.exchange.receive(1, {}, room).reached == transfer::stage::complete);
    // The peer may send again only when it has received the credit.
    CHECK(peer.link().has_output());
    std::size_t count = 0;
    for (const byte_view piece : peer.link().output()) count += piece.size();
    peer.link().written(count);
    CHECK_FALSE(peer.read_frame({}, content));
    const auto why = peer.read_frame({});
    REQUIRE(why);
    CHECK(why->offset == 32);
}

TEST_CASE("link: credit that was never taken -> refused") {
    using enum detail::wire::frame_type;
    const auto unearned = forged_peer().read_frame({.type = credit, .value = 1});
    REQUIRE(unearned);
    CHECK(unearned->offset == 40);
    CHECK_FALSE(forged_peer().read_frame({.type = credit}));

    const bytes content(1000);
    constexpr std::uint64_t taken = 1000 + forged_peer::overhead;
    for (const std::uint64_t value : {taken, taken + 1, std::uint64_t{1} << 63}) {
        CAPTURE(value);
        forged_peer peer;
        peer.exchange.send(1, {}, content);
        const auto why = peer.read_frame({.type = credit, .value = value});
        CHECK(why.has_value() == (value > taken));
        if (why) CHECK(why->offset == 40);
    }
    forged_peer peer;  // what was given back is not given back twice
    peer.exchange.send(1, {}, content);
    REQUIRE_FALSE(peer.read_frame({.type = credit, .value = taken}));
    CHECK(peer.read_frame({.type = credit, .value = 1}));
}

TEST_CASE("link: a granted message of another size than announced -> refused") {
    using enum detail::wire::frame_type;
    const bytes content(1000);
    for (const std::size_t size : {999u, 1000u}) {
        CAPTURE(size);
        forged_peer peer;
        bytes room(2000);
        transfer& receive = peer.exchange.receive(1, {}, room);
        REQUIRE_FALSE(peer.read_frame({.type = announce, .size = 1000}));
        const auto why = peer.read_frame({.type = granted}, byte_view(content).first(size));
        CHECK(why.has_value() == (size != 1000));
        if (why) CHECK(why->offset == 32);
        CHECK((receive.reached == transfer::stage::complete) == (size == 1000));
    }
}

TEST_CASE("link: a granted message that was not asked for -> refused") {
    using enum detail::wire::frame_type;
    const bytes content(10);
    forged_peer peer;
    REQUIRE_FALSE(peer.read_frame({.type = announce, .size = 10}));  // no receive waits for it
    const auto why = peer.read_frame({.type = granted}, content);
    REQUIRE(why);
    CHECK(why->offset == 24);
}

TEST_CASE("link: more than 65,536 open announcements -> refused at both ends") {
    using enum detail::wire::frame_type;
    constexpr int announced_max = 65536;
    forged_peer peer;
    for (int i = 0; i < announced_max; ++i)
        if (peer.read_frame({.type = announce, .size = 10})) FAIL("announcement " << i);
    const auto why = peer.read_frame({.type = announce, .size = 10});
    REQUIRE(why);
    CHECK(why->offset == 3);

    forged_peer other;  // all of its messages wait until they are received
    const bytes large(forged_peer::budget);
    for (int i = 0; i < announced_max; ++i) other.exchange.send(1, {}, large);
    const std::size_t in_use = other.exchange.in_use();
    CHECK_THROWS_AS(other.exchange.send(1, {}, large), invalid_option);
    CHECK(other.exchange.in_use() == in_use);
}
