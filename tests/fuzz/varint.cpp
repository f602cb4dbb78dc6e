#include "sotto/wire/detail/coding/varint.hpp"

#include <algorithm>

#include "fuzz/fuzz.hpp"

using namespace sotto;

// Whatever is accepted is the one spelling of its number.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const byte_view in = fuzz::input(data, size).rest();
    const auto read = detail::wire::read_varint(in);
    if (!read) {
        fuzz::require(
            read.why().offset >= 0 && read.why().offset <= static_cast<std::int64_t>(size),
            "a fault lies inside the input");
        return 0;
    }
    bytes again;
    detail::wire::append_varint(again, read->value);
    fuzz::require(static_cast<std::int64_t>(again.size()) == read->bytes,
                  "the size is that of the number");
    fuzz::require(std::equal(again.begin(), again.end(), in.begin()), "a number has one spelling");
    return 0;
}
