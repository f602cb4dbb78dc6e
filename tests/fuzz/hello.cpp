#include "sotto/wire/detail/protocols/hello.hpp"

#include <algorithm>
#include <cstddef>

#include "fuzz/fuzz.hpp"
#include "sotto/core/bytes.hpp"
#include "sotto/wire/detail/protocols/rank_table.hpp"
#include "sotto/wire/detail/protocols/rendezvous_message.hpp"

using namespace sotto;

// Whatever is accepted is written again as it was, but for the bytes that must be 0 and the digest.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const auto from = reinterpret_cast<const std::byte*>(data);
    if (size >= detail::wire::hello_bytes)
        if (const auto read = detail::wire::read_hello(from)) {
            const auto again = detail::wire::written_hello(*read);
            const auto same = detail::wire::read_hello(again.data());
            fuzz::require(same && *same == *read, "a hello that was read comes back");
        }
    if (size >= detail::wire::rendezvous_message_bytes)
        if (const auto read = detail::wire::read_rendezvous_message(from)) {
            const auto again = detail::wire::written_rendezvous_message(*read);
            const auto same = detail::wire::read_rendezvous_message(again.data());
            fuzz::require(same && *same == *read, "a word that was read comes back");
        }
    // The table of as many ranks as there are bytes for.
    if (size >= detail::wire::rank_table_bytes(1)) {
        const std::size_t world = (size - detail::wire::rank_table_bytes(0)) / 18;
        const byte_view table(from, detail::wire::rank_table_bytes(world));
        if (const auto read = detail::wire::read_rank_table(table, world)) {
            const bytes again = detail::wire::written_rank_table(*read);
            fuzz::require(again.size() == table.size() &&
                              std::equal(again.begin(), again.end() - 8, table.begin()),
                          "a table that was read is written again as it was");
        }
    }
    return 0;
}
