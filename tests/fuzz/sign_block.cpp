#include "sotto/kernels/detail/quantise/signs.hpp"
#include "sotto/wire/detail/blocks/sign_block.hpp"

#include <algorithm>
#include <vector>

#include "fuzz/fuzz.hpp"

using namespace sotto;

// Whatever is accepted is the one spelling of its values: a block written from them has the same
// signs, and the same bytes if their magnitude is a mean that comes back.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    fuzz::input in(data, size);
    const auto n = static_cast<std::int64_t>(in.number(2));
    const auto block = detail::wire::decode_signs(in.rest(), n);
    if (!block) {
        fuzz::require(block.why().offset >= 0 &&
                          block.why().offset <= static_cast<std::int64_t>(in.rest().size()),
                      "a fault lies inside the input");
        return 0;
    }
    fuzz::require(detail::is_finite(block->magnitude) && block->magnitude >= 0.0f,
                  "a magnitude is one");
    std::vector<float> values(static_cast<std::size_t>(n), 7.0f);
    detail::kernels::unpack_signs(block->signs, block->magnitude, values);
    for (const float value : values)
        fuzz::require(value == block->magnitude || value == -block->magnitude,
                      "every value has the magnitude");
    bytes again;
    const float mean = detail::wire::encode_signs(values, again);
    fuzz::require(again.size() == in.rest().size(), "a block has one size");
    fuzz::require(std::equal(again.begin() + 4, again.end(), in.rest().begin() + 4),
                  "signs come back, and what is behind them is zero");
    if (n > 0 && mean == block->magnitude)
        fuzz::require(std::equal(again.begin(), again.end(), in.rest().begin()),
                      "a block has one spelling");
    return 0;
}
