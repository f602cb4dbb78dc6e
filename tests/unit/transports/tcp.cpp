#include "sotto/transports/tcp.hpp"

#include <doctest/doctest.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "support/over_tcp.hpp"

using namespace sotto;
using namespace sotto::testing;

namespace {

std::vector<std::byte> content_of(std::uint64_t message, std::size_t size) {
    std::vector<std::byte> content(size);
    for (std::size_t i = 0; i < size; ++i)
        content[i] = static_cast<std::byte>((i * 31 + message * 7) & 255);
    return content;
}

}  // namespace

TEST_CASE("a rank that does not receive is sent its budget, and the rest once it does") {
    constexpr std::size_t messages = 64, size = 100'000;
    constexpr std::int64_t budget = 1 << 20;
    run_over_tcp(2, {.budget = budget}, [&](tcp& t) {
        std::vector<std::vector<std::byte>> content;
        for (std::uint64_t m = 0; m < messages; ++m) content.push_back(content_of(m, size));
        if (t.rank() == 0) {
            std::vector<std::optional<request>> sends;
            for (std::uint64_t m = 0; m < messages; ++m)
                sends.emplace_back(t.send(1, {16, 0, m}, content[m]));
            std::int64_t gone = 0;
            for (int turn = 0; turn < 2000; ++turn)
                for (auto& send : sends)
                    if (send)
                        if (const auto done = t.poll(*send)) {
                            gone += done->bytes;
                            send.reset();
                        }
            CHECK(gone <= budget);
            CHECK(t.counters().bytes_sent == gone);
            t.agree(true);  // from here on the other one receives
            for (const auto& send : sends)
                if (send) t.wait(*send);
        } else {
            t.agree(true);
            std::vector<std::byte> room(size);
            for (std::uint64_t m = 0; m < messages; ++m) {
                t.wait(t.receive(0, {16, 0, m}, room));
                CHECK(room == content[m]);
            }
        }
        t.agree(true);
    });
}
