#include "sotto/report/detail/advice/advice_mirror.hpp"

#include <doctest/doctest.h>

#include <cstddef>
#include <cstdint>
#include <stdexcept>

#include "sotto/collectives/detail/all_gather_v.hpp"
#include "sotto/collectives/detail/operation.hpp"
#include "sotto/core/bytes.hpp"

using namespace sotto;
using detail::mirror;

static_assert(transport<mirror>);

TEST_CASE("a mirror's other ranks send what this one sends, straight and around a ring") {
    for (const int world : {1, 2, 5})
        for (const auto way :
             {detail::collectives::route::direct, detail::collectives::route::ring})
            for (const std::size_t size : {0u, 100u, 600'000u}) {
                const bool in_one_message = size <= 100;
                if (way == detail::collectives::route::direct && !in_one_message) continue;
                bytes own(size);
                for (std::size_t i = 0; i < size; ++i) own[i] = std::byte(i * 7 % 251);
                mirror through(world);
                detail::collectives::all_gather_v gather(through, in_one_message ? 100 : 600'000,
                                                         way);
                for (std::uint64_t round = 1; round <= 2; ++round) {
                    gather.start(own, {0, 0, round});
                    detail::collectives::run(through, gather);
                    for (int rank = 0; rank < world; ++rank) {
                        const byte_view block = gather.block_of(rank);
                        CHECK(bytes(block.begin(), block.end()) == own);
                    }
                    CHECK(through.counters().bytes_sent ==
                          static_cast<std::int64_t>(round * size) * (world - 1));
                }
            }
}

TEST_CASE("a mirror refuses to wait for what is never sent, and messages without room") {
    mirror through(2);
    bytes room(4);
    const request r = through.receive(1, {}, room);
    CHECK_FALSE(through.poll(r));
    CHECK_THROWS_AS(through.wait(r), std::logic_error);
    CHECK_THROWS_AS(through.await(through.activity()), std::logic_error);
    CHECK_THROWS_AS(through.send(1, {}, bytes(5)), std::logic_error);
    through.withdraw();
    const request out = through.send(1, {}, bytes(5));
    CHECK_FALSE(through.poll(out));
}
