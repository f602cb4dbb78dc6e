#pragma once

#include "sotto/transports/speeds.hpp"

#include <cmath>

#include "sotto/core/config.hpp"
#include "sotto/core/errors.hpp"
#include "sotto/core/require_option.hpp"

namespace sotto::speeds {

SOTTO_DECL void uniform::require_possible(int) const {
    require_option("simulated", "speeds::uniform.low", low, detail::allowed::at_least(0.0));
    require_option("simulated", "speeds::uniform.high", high, detail::allowed::at_least(low),
                   ", the value of low");
}

SOTTO_DECL double uniform::operator()(int, random_stream& stream) const noexcept {
    return low + (high - low) * static_cast<double>(stream.uniform());
}

SOTTO_DECL void exponential::require_possible(int) const {
    require_option("simulated", "speeds::exponential.fixed", fixed,
                   detail::allowed::at_least(0.0).at_most(1.0));
}

SOTTO_DECL double exponential::operator()(int, random_stream& stream) const noexcept {
    const double u = static_cast<double>(stream.uniform());
    return fixed + (1.0 - fixed) * -std::log1p(-u);
}

SOTTO_DECL void heavy_tailed::require_possible(int) const {
    require_option("simulated", "speeds::heavy_tailed.shape", shape, detail::allowed::above(0.0));
    require_option("simulated", "speeds::heavy_tailed.most", most, detail::allowed::at_least(1.0));
}

SOTTO_DECL double heavy_tailed::operator()(int, random_stream& stream) const noexcept {
    const double u = static_cast<double>(stream.uniform());
    return std::fmin(most, std::pow(1.0 - u, -1.0 / shape));
}

SOTTO_DECL void one_slow::require_possible(int ranks) const {
    require_option("simulated", "speeds::one_slow.factor", factor, detail::allowed::above(0.0));
    require_option("simulated", "speeds::one_slow.rank", rank,
                   detail::allowed::at_least(0).below(ranks), ", the number of ranks");
    speeds::require_possible(others, ranks);
}

SOTTO_DECL double one_slow::operator()(int of, random_stream& stream) const {
    return others(of, stream) * (of == rank ? factor : 1.0);
}

SOTTO_DECL double of_each_rank::operator()(int rank, random_stream& stream) const {
    random_stream own = stream.split("speed of a rank");
    return drawn(rank, own);
}

SOTTO_DECL void require_possible(const slowness& what, int ranks) {
    if (!what) throw invalid_option("simulated: slowness is empty; speeds::constant draws nothing");
    const auto check = [&]<class One>(const One* one) {
        if (one) one->require_possible(ranks);
    };
    check(what.target<uniform>());
    check(what.target<exponential>());
    check(what.target<heavy_tailed>());
    check(what.target<one_slow>());
    check(what.target<of_each_rank>());
}

}  // namespace sotto::speeds
