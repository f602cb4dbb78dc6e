#include "sotto/wire/detail/protocols/gossip_word.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>

#include "fuzz/fuzz.hpp"
#include "sotto/core/bytes.hpp"

using namespace sotto;

// What is accepted is written again as it was.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const byte_view in(reinterpret_cast<const std::byte*>(data), size);
    if (const auto read = detail::wire::read_gossip_word(in)) {
        std::array<std::byte, detail::wire::gossip_word_bytes> again{};
        detail::wire::write_gossip_word(*read, again.data());
        fuzz::require(std::equal(again.begin(), again.end(), in.begin(), in.end()),
                      "a word that was read is written again as it was");
    }
    return 0;
}
