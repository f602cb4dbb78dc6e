#include "sotto/wire/detail/protocols/model_message.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "fuzz/fuzz.hpp"
#include "sotto/core/bytes.hpp"

using namespace sotto;

// The first byte says of how many messages the model is. What is accepted is written again as it
// was, and no message lies outside of it.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const byte_view all(reinterpret_cast<const std::byte*>(data), size);
    if (all.empty()) return 0;
    std::vector<byte_view> messages(std::to_integer<std::size_t>(all[0]) % 8);
    const byte_view in = all.subspan(1);
    if (const auto read = detail::wire::read_model(in, messages)) {
        std::vector<std::uint64_t> sizes;
        for (const byte_view m : messages) sizes.push_back(m.size());
        bytes again(detail::wire::model_head_bytes(messages.size()));
        detail::wire::write_model_head(*read, sizes, again.data());
        for (const byte_view m : messages) again.insert(again.end(), m.begin(), m.end());
        fuzz::require(std::ranges::equal(again, in),
                      "a model that was read is written again as it was");
    }
    return 0;
}
