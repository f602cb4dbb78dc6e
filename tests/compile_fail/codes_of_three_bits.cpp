// expect-error: quantise<Bits>: Bits is 2, 4 or 8
#include "sotto/kernels/detail/quantise/quantise.hpp"

void misuse(std::span<const float> x, std::span<float> scales, std::span<std::uint8_t> codes) {
    sotto::detail::kernels::quantise<3>({}, x, scales, codes);
}
