#include "sotto/wire/detail/protocols/push.hpp"

#include <doctest/doctest.h>

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <utility>
#include <string>
#include <vector>

#include "sotto/core/bytes.hpp"

using namespace sotto;
using namespace sotto::wire;
using namespace sotto::detail::wire;

namespace {

/// A gradient of two tensors, whose messages are of 3 bytes and of none.
bytes some_push() {
    bytes out(push_head_bytes(2));
    const std::array<std::uint64_t, 2> sizes{3, 0};
    write_push_head({.round = 0x0102, .read = 0x0304, .epoch = 1.5, .clock = 0x0506}, sizes,
                    out.data());
    for (const int b : {7, 8, 9}) out.push_back(static_cast<std::byte>(b));
    return out;
}

std::int64_t fault_at(const bytes& in, std::size_t tensors = 2) {
    std::vector<byte_view> messages(tensors);
    const auto read = read_push(in, messages);
    REQUIRE_FALSE(read);
    return read.why().offset;
}

void put(bytes& in, std::size_t at, std::uint64_t value) {
    store_little_endian(in.data() + at, value);
}

}  // namespace

TEST_CASE("a push has these bytes, and comes back as it was") {
    const bytes in = some_push();
    const std::vector<int> expected{
        1, 0, 0, 0, 2, 0, 0, 0, 2, 1, 0, 0, 0, 0, 0,    0,     // kind, tensors, round
        4, 3, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xf8, 0x3f,  // version, 1.5
        6, 5, 0, 0, 0, 0, 0, 0,                                // clock
        3, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0,    0,     // sizes
        7, 8, 9};
    REQUIRE(in.size() == expected.size());
    for (std::size_t i = 0; i < in.size(); ++i) CHECK(std::to_integer<int>(in[i]) == expected[i]);

    std::vector<byte_view> messages(2);
    const auto read = read_push(in, messages);
    REQUIRE(read);
    CHECK(read->kind == push_kind::gradient);
    CHECK(read->tensors == 2);
    CHECK(read->round == 0x0102);
    CHECK(read->read == 0x0304);
    CHECK(read->epoch == 1.5);
    CHECK(read->clock == 0x0506);
    CHECK(messages[0].data() == in.data() + 56);
    CHECK(messages[0].size() == 3);
    CHECK(messages[1].empty());
}

TEST_CASE("who begins, goes on or is done pushes no tensor, however many there are") {
    for (const push_kind kind :
         {push_kind::attach, push_kind::done, push_kind::resend, push_kind::resume}) {
        bytes in(push_head_bytes(0));
        write_push_head({.kind = kind, .round = 5}, {}, in.data());
        if (begins(kind)) append_configuration(summary_of("a = 1\n"), in);
        std::vector<byte_view> messages(3);
        const auto read = read_push(in, messages);
        REQUIRE(read);
        CHECK(read->kind == kind);
        CHECK(read->round == 5);
        if (begins(kind)) continue;
        in.push_back({});
        CHECK(fault_at(in, 3) == 40);
    }
}

TEST_CASE("who begins says how it is configured, as far as there is room") {
    const std::string longest(configuration_bytes_max, 'x');
    for (const std::string& text :
         {std::string(), std::string("a = 1\n"), longest, longest + "y"}) {
        bytes in(push_head_bytes(0));
        write_push_head({.kind = push_kind::attach}, {}, in.data());
        append_configuration(summary_of(text), in);
        REQUIRE(read_push(in, {}));
        CHECK(configuration_of(in) == summary_of(text));
        CHECK(configuration_of(in).text == text.substr(0, configuration_bytes_max));
    }
    CHECK_FALSE(summary_of(longest) == summary_of(longest + "y"));
    CHECK(fault_at(bytes(push_head_bytes(0) + 7), 0) == 40);
    CHECK(fault_at(bytes(push_head_bytes(0) + 8 + configuration_bytes_max + 1), 0) == 40);
    bytes with_tensors(push_head_bytes(0) + 8);
    with_tensors[4] = std::byte{1};
    CHECK(fault_at(with_tensors, 0) == 4);
}

TEST_CASE("a push that is not one is refused where it is wrong") {
    const bytes good = some_push();
    for (std::size_t size = 0; size < good.size(); ++size) {
        CAPTURE(size);
        const bytes cut(good.begin(), good.begin() + static_cast<std::ptrdiff_t>(size));
        CHECK(fault_at(cut) == (size < 40 ? 0 : 40));
    }
    bytes longer = good;
    longer.push_back({});
    CHECK(fault_at(longer) == 59);
    CHECK(fault_at(good, 1) == 4);
    CHECK(fault_at(good, 3) == 4);
    const auto with = [&](std::size_t at, std::uint64_t value) {
        bytes changed = good;
        put(changed, at, value);
        return fault_at(changed);
    };
    CHECK(with(0, 5) == 0);
    for (const double epoch :
         {-1.0, std::numeric_limits<double>::quiet_NaN(), std::numeric_limits<double>::infinity()})
        CHECK(with(24, std::bit_cast<std::uint64_t>(epoch)) == 24);
    CHECK(with(32, std::uint64_t{1} << 62) == 32);
    CHECK(with(40, 4) == 40);
    CHECK(with(40, ~std::uint64_t{0}) == 40);
    CHECK(with(40, 2) == 58);  // one byte is left
    CHECK(with(48, 1) == 48);
}

TEST_CASE("what a server answers has these bytes, and comes back as it was") {
    std::array<std::byte, parameters_header_bytes> out{};
    write_parameters_header({.kind = parameters_kind::changed,
                             .taken = false,
                             .version = 0x0102,
                             .staleness = 3,
                             .size = 0x0405,
                             .rounds = 7,
                             .clock = 9},
                            out.data());
    const std::vector<int> expected{1, 0, 0, 0, 0, 0, 0, 0, 2, 1, 0, 0, 0, 0, 0, 0, 3, 0, 0, 0, 0,
                                    0, 0, 0, 5, 4, 0, 0, 0, 0, 0, 0, 7, 0, 0, 0, 0, 0, 0, 0, 9};
    for (std::size_t i = 0; i < out.size(); ++i)
        CHECK(std::to_integer<int>(out[i]) == (i < expected.size() ? expected[i] : 0));
    const auto read = read_parameters_header(out);
    REQUIRE(read);
    CHECK(read->kind == parameters_kind::changed);
    CHECK_FALSE(read->taken);
    CHECK(read->version == 0x0102);
    CHECK(read->staleness == 3);
    CHECK(read->size == 0x0405);
    CHECK(read->rounds == 7);
    CHECK(read->clock == 9);

    CHECK_FALSE(read_parameters_header(byte_view(out).first(63)));
    for (const auto& [at, value] :
         {std::pair<std::size_t, int>{0, 4}, {4, 2}, {47, 64}, {48, 1}, {63, 1}}) {
        auto wrong = out;
        wrong[at] = static_cast<std::byte>(value);
        const auto refused = read_parameters_header(wrong);
        REQUIRE_FALSE(refused);
        CHECK(refused.why().offset == static_cast<std::int64_t>(at == 63   ? 56
                                                                : at == 47 ? 40
                                                                           : at));
    }
}
