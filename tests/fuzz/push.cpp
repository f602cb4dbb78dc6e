#include "sotto/wire/detail/protocols/push.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "fuzz/fuzz.hpp"
#include "sotto/core/bytes.hpp"

using namespace sotto;

// The first byte says of how many tensors the server is. What is accepted is written again as it
// was, and no message lies outside of the push.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const byte_view all(reinterpret_cast<const std::byte*>(data), size);
    if (all.empty()) return 0;
    std::vector<byte_view> messages(std::to_integer<std::size_t>(all[0]) % 8);
    const byte_view in = all.subspan(1);
    if (const auto read = detail::wire::read_push(in, messages)) {
        const std::size_t tensors =
            read->kind == detail::wire::push_kind::gradient ? messages.size() : 0;
        std::vector<std::uint64_t> sizes;
        for (std::size_t t = 0; t < tensors; ++t) sizes.push_back(messages[t].size());
        bytes again(detail::wire::push_head_bytes(tensors));
        detail::wire::write_push_head(*read, sizes, again.data());
        for (std::size_t t = 0; t < tensors; ++t)
            again.insert(again.end(), messages[t].begin(), messages[t].end());
        if (detail::wire::begins(read->kind))
            detail::wire::append_configuration(detail::wire::configuration_of(in), again);
        fuzz::require(std::equal(again.begin(), again.end(), in.begin(), in.end()),
                      "a push that was read is written again as it was");
    }
    if (const auto read = detail::wire::read_parameters_header(in)) {
        std::array<std::byte, detail::wire::parameters_header_bytes> again{};
        detail::wire::write_parameters_header(*read, again.data());
        fuzz::require(std::equal(again.begin(), again.end(), in.begin(), in.end()),
                      "a header that was read is written again as it was");
    }
    return 0;
}
