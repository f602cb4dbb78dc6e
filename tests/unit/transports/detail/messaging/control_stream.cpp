#include "sotto/transports/detail/messaging/control_stream.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "sotto/core/bytes.hpp"
#include "sotto/core/result.hpp"
#include "sotto/wire/detail/protocols/frame.hpp"

using namespace sotto;
using namespace sotto::detail::net;

namespace {

constexpr std::size_t payload_max = 100;

control_stream sender(std::uint32_t epoch = 3, std::uint64_t seed_out = 1) {
    return {epoch, seed_out, 2, payload_max};
}

struct receiver {
    control_stream stream{3, 2, 1, payload_max};
    std::vector<detail::wire::frame_type> types;
    std::vector<bytes> payloads;

    std::optional<detail::fault> read(byte_view piece) {
        return stream.received(piece, [&](const detail::wire::frame_header& h, byte_view payload) {
            types.push_back(h.type);
            payloads.emplace_back(payload.begin(), payload.end());
            return std::optional<detail::fault>();
        });
    }
};

bytes content(std::size_t size) {
    bytes made(size);
    for (std::size_t i = 0; i < size; ++i) made[i] = static_cast<std::byte>(i);
    return made;
}

std::int64_t place_of(const std::optional<detail::fault>& why) {
    return why ? why->offset : -1;
}

}  // namespace

TEST_CASE("control_stream: frames in pieces of any size -> each arrives once, in order") {
    for (const std::size_t size : {1u, 7u, 64u, 1000u}) {
        CAPTURE(size);
        control_stream out = sender();
        out.send({.type = detail::wire::frame_type::heartbeat});
        out.send({.type = detail::wire::frame_type::report}, content(payload_max));
        out.send({.type = detail::wire::frame_type::leave}, content(1));
        receiver in;
        while (!out.output().empty()) {
            const byte_view piece = out.output().first(std::min(size, out.output().size()));
            REQUIRE_FALSE(in.read(piece));
            out.written(piece.size());
        }
        using enum detail::wire::frame_type;
        CHECK(in.types == std::vector{heartbeat, report, leave});
        CHECK(in.payloads == std::vector{bytes(), content(payload_max), content(1)});
        CHECK(in.stream.between_frames());
    }
}

TEST_CASE("control_stream: part of a frame -> not between frames") {
    control_stream out = sender();
    out.send({.type = detail::wire::frame_type::report}, content(10));
    receiver in;
    CHECK(in.stream.between_frames());
    REQUIRE_FALSE(in.read(out.output().first(70)));
    CHECK_FALSE(in.stream.between_frames());
    CHECK(in.types.empty());
}

TEST_CASE("control_stream: a payload beyond the limit -> refused at once") {
    control_stream out = sender();
    out.send({.type = detail::wire::frame_type::report}, content(payload_max + 1));
    receiver in;
    CHECK(place_of(in.read(out.output().first(detail::wire::frame_header_bytes))) == 32);
    CHECK(in.types.empty());
}

TEST_CASE("control_stream: a frame of another epoch, number or seed -> refused") {
    control_stream earlier = sender(2);
    earlier.send({.type = detail::wire::frame_type::heartbeat});
    CHECK(place_of(receiver().read(earlier.output())) == 4);

    control_stream out = sender();
    out.send({.type = detail::wire::frame_type::heartbeat});
    const bytes first(out.output().begin(), out.output().end());
    receiver in;
    REQUIRE_FALSE(in.read(first));
    CHECK(place_of(in.read(first)) == 8);  // twice
    CHECK(in.types.size() == 1);
    out.written(first.size());
    out.send({.type = detail::wire::frame_type::heartbeat});
    CHECK(place_of(receiver().read(out.output())) == 8);  // without the first

    if (digests_are_checked) {
        control_stream other = sender(3, 9);
        other.send({.type = detail::wire::frame_type::heartbeat});
        CHECK(place_of(receiver().read(other.output())) == 56);
    }
}

TEST_CASE("control_stream: any byte of a payload is changed -> refused") {
    if (!digests_are_checked) return;
    control_stream out = sender();
    out.send({.type = detail::wire::frame_type::report}, content(10));
    const bytes whole(out.output().begin(), out.output().end());
    for (std::size_t at = detail::wire::frame_header_bytes; at < whole.size(); ++at) {
        bytes changed = whole;
        changed[at] ^= std::byte{1};
        receiver in;
        CHECK(place_of(in.read(changed)) == 48);
        CHECK(in.types.empty());
    }
}
