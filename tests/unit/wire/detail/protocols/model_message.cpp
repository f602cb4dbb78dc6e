#include "sotto/wire/detail/protocols/model_message.hpp"

#include <doctest/doctest.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "sotto/core/bytes.hpp"

using namespace sotto;
using namespace sotto::wire;
using namespace sotto::detail::wire;

namespace {

/// A change of two messages, of 3 bytes and of none.
bytes some_model() {
    bytes out(model_head_bytes(2));
    model_header h{.kind = model_kind::change, .number = 0x0102, .step = 0x0304, .label_loss = 1.5};
    for (std::size_t i = 0; i < 16; ++i) h.architecture[i] = std::byte(0x10 + i);
    write_model_head(h, std::array<std::uint64_t, 2>{3, 0}, out.data());
    for (const int b : {7, 8, 9}) out.push_back(static_cast<std::byte>(b));
    return out;
}

std::int64_t fault_at(const bytes& in, std::size_t parts = 2) {
    std::vector<byte_view> messages(parts);
    const auto read = read_model(in, messages);
    REQUIRE_FALSE(read);
    return read.why().offset;
}

void put(bytes& in, std::size_t at, std::uint64_t value) {
    store_little_endian(in.data() + at, value);
}

}  // namespace

TEST_CASE("a model has these bytes, and comes back as it was") {
    const bytes in = some_model();
    const std::vector<int> expected{1,    0,    0,    0,    2,    0,    0,    0,  // kind, messages
                                    2,    1,    0,    0,    0,    0,    0,    0,  // number
                                    4,    3,    0,    0,    0,    0,    0,    0,  // step
                                    0,    0,    0,    0,    0,    0,    0xf8, 0x3f,  // 1.5
                                    0x10, 0x11, 0x12, 0x13, 0x14, 0x15, 0x16, 0x17,
                                    0x18, 0x19, 0x1a, 0x1b, 0x1c, 0x1d, 0x1e,
                                    0x1f,                                         // architecture
                                    3,    0,    0,    0,    0,    0,    0,    0,  // sizes
                                    0,    0,    0,    0,    0,    0,    0,    0,  //
                                    7,    8,    9};
    REQUIRE(in.size() == expected.size());
    for (std::size_t i = 0; i < in.size(); ++i) CHECK(std::to_integer<int>(in[i]) == expected[i]);

    std::vector<byte_view> messages(2);
    const auto read = read_model(in, messages);
    REQUIRE(read);
    CHECK(read->kind == model_kind::change);
    CHECK(read->parts == 2);
    CHECK(read->number == 0x0102);
    CHECK(read->step == 0x0304);
    CHECK(read->label_loss == 1.5);
    CHECK(read->architecture[15] == std::byte{0x1f});
    CHECK(messages[0].size() == 3);
    CHECK(messages[0].data() == in.data() + model_head_bytes(2));
    CHECK(messages[1].empty());
}

TEST_CASE("a model that is not one is refused at its place") {
    const bytes good = some_model();
    const auto changed = [&](std::size_t at, std::uint64_t value) {
        bytes in = good;
        put(in, at, value);
        return fault_at(in);
    };
    CHECK(fault_at({}) == 0);
    CHECK(fault_at(bytes(good.begin(), good.begin() + 47)) == 0);
    CHECK(changed(0, 2 + (std::uint64_t{2} << 32)) == 0);
    CHECK(fault_at(good, 3) == 4);
    CHECK(changed(8, std::uint64_t{1} << 62) == 8);
    CHECK(changed(16, std::uint64_t{1} << 62) == 16);
    CHECK(fault_at(bytes(good.begin(), good.begin() + 60)) == 48);
    CHECK(changed(48, 4) == 48);
    CHECK(changed(56, UINT64_MAX) == 56);
    CHECK(changed(48, 2) == static_cast<std::int64_t>(good.size() - 1));
    bytes longer = good;
    longer.push_back(std::byte{});
    CHECK(fault_at(longer) == static_cast<std::int64_t>(good.size()));
}
