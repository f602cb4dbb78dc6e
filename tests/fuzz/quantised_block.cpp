#include "sotto/wire/detail/blocks/quantised_block.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

#include "fuzz/fuzz.hpp"

using namespace sotto;

namespace {

template <int Bits>
void decode(const detail::wire::quantised_shape& shape, byte_view in) {
    std::vector<float> scales(static_cast<std::size_t>(detail::wire::buckets_of(shape)));
    const auto block = detail::wire::decode_quantised(in, shape, scales);
    if (!block) {
        fuzz::require(
            block.why().offset >= 0 && block.why().offset <= static_cast<std::int64_t>(in.size()),
            "a fault lies inside the input");
        return;
    }
    const auto bucket = static_cast<std::size_t>(shape.bucket);
    std::vector<float> values(static_cast<std::size_t>(shape.size), 7.0f);
    detail::kernels::dequantise<Bits>(bucket, block->scales, block->codes, values);
    for (std::size_t i = 0; i < values.size(); ++i)
        fuzz::require(std::abs(values[i]) <= block->scales[i / bucket],
                      "values are finite and within their scale");
    bytes again;
    std::vector<float> same(scales.size());
    detail::wire::encode_quantised(shape, same, again, [&](auto to_scales, auto to_codes) {
        std::copy(scales.begin(), scales.end(), to_scales.begin());
        std::copy(block->codes.begin(), block->codes.end(), to_codes.begin());
    });
    fuzz::require(std::equal(again.begin(), again.end(), in.begin(), in.end()),
                  "a block has one spelling");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    fuzz::input in(data, size);
    constexpr int widths[] = {2, 4, 8};
    const int bits = widths[in.number(1) % 3];
    const std::int64_t bucket = std::int64_t{256} << in.number(1) % 13;
    const detail::wire::quantised_shape shape{static_cast<std::int64_t>(in.number(2)), bucket,
                                              bits};
    switch (bits) {
        case 2: decode<2>(shape, in.rest()); break;
        case 4: decode<4>(shape, in.rest()); break;
        default: decode<8>(shape, in.rest()); break;
    }
    return 0;
}
