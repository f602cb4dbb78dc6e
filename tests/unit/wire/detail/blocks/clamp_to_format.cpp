#include "sotto/wire/detail/blocks/clamp_to_format.hpp"

#include <doctest/doctest.h>

#include <limits>

using namespace sotto;
using detail::wire::clamp_to_format, wire::value_format;

TEST_CASE("a value beyond the format's range is its largest number, others are rounded") {
    constexpr float huge = std::numeric_limits<float>::max();
    CHECK(clamp_to_format(value_format::fp32, huge) == huge);
    CHECK(clamp_to_format(value_format::fp16, huge) == 65504.0f);
    CHECK(clamp_to_format(value_format::fp16, -1e6f) == -65504.0f);
    CHECK(clamp_to_format(value_format::bf16, huge) == 0x1.fep127f);
    CHECK(clamp_to_format(value_format::bf16, -huge) == -0x1.fep127f);
    for (const auto format : {value_format::fp32, value_format::fp16, value_format::bf16})
        for (const float value : {0.0f, 1.0f, 1.0f / 3.0f, -1e-3f, 65504.0f})
            CHECK(clamp_to_format(format, value) == wire::rounded(format, value));
}
