#include "sotto/wire/dense_block.hpp"

#include <algorithm>
#include <vector>

#include "fuzz/fuzz.hpp"

using namespace sotto;

// Whatever is accepted comes back bit for bit when its values are encoded again, but for signalling
// NaNs in fp16.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    fuzz::input in(data, size);
    const std::size_t n = in.number(2);
    std::vector<float> values(n, 1.0f);
    if (!wire::decode_dense(in.rest(), values)) {
        fuzz::require(
            std::count(values.begin(), values.end(), 1.0f) == static_cast<std::ptrdiff_t>(n),
            "a refused block touches nothing");
        return 0;
    }
    const auto format = static_cast<wire::value_format>(in.rest()[0]);
    bytes again;
    wire::encode_dense(values, format, again);
    fuzz::require(again.size() == in.rest().size(), "a block has one size");
    std::vector<float> same(n);
    fuzz::require(static_cast<bool>(wire::decode_dense(again, same)), "what was encoded decodes");
    bytes third;
    wire::encode_dense(same, format, third);
    fuzz::require(again == third, "a block that was rounded once stays as it is");
    return 0;
}
