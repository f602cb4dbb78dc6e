#pragma once

#include "sotto/compressors/qsgd.hpp"

#include <algorithm>
#include <cmath>
#include <string>

#include "sotto/core/config.hpp"
#include "sotto/core/errors.hpp"

namespace sotto {

SOTTO_DECL double qsgd::variance(const tensor& t) const noexcept {
    if (dense_vectors && t.is_vector()) return 0.0;
    const auto d = static_cast<double>((std::min)(bucket, t.size));
    const double steps = std::exp2(static_cast<double>(bits - 1)) - 1.0;
    return (std::min)(d / (steps * steps), std::sqrt(d) / steps);
}

SOTTO_DECL void qsgd::check() const {
    if (bits != 2 && bits != 4 && bits != 8)
        throw invalid_option("qsgd: bits is " + std::to_string(bits) + "; it must be 2, 4 or 8");
}

SOTTO_DECL void qsgd::quantise(std::uint64_t message_seed, std::span<const float> values,
                               std::span<float> scales, std::span<std::uint8_t> codes) const {
    switch (bits) {
        case 2: return quantise_to<2>(message_seed, values, scales, codes);
        case 4: return quantise_to<4>(message_seed, values, scales, codes);
        default: return quantise_to<8>(message_seed, values, scales, codes);
    }
}

}  // namespace sotto
