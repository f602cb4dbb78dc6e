#include "sotto/core/detail/memory/finite.hpp"

#include <doctest/doctest.h>

#include <limits>
#include <vector>

using namespace sotto;

namespace {

/// From memory that no compiler can look into.
template <class Real>
std::vector<Real> opaque(std::vector<Real> values) {
    for (Real& value : values) asm volatile("" : : "r"(&value) : "memory");
    return values;
}

template <class Real>
void check_all() {
    using limits = std::numeric_limits<Real>;
    for (const Real& x : opaque<Real>({0, 1, -1, limits::max(), limits::lowest(), limits::min(),
                                       limits::denorm_min(), -limits::denorm_min()})) {
        CHECK(detail::is_finite(x));
        CHECK_FALSE(detail::is_nan(x));
        CHECK_FALSE(detail::is_infinite(x));
    }
    for (const Real& x : opaque<Real>({0, -Real(0)})) CHECK(detail::is_zero(x));
    for (const Real& x : opaque<Real>({1, limits::denorm_min(), -limits::denorm_min(),
                                       limits::infinity(), limits::quiet_NaN()}))
        CHECK_FALSE(detail::is_zero(x));
    for (const Real& x : opaque<Real>({limits::infinity(), -limits::infinity()})) {
        CHECK_FALSE(detail::is_finite(x));
        CHECK_FALSE(detail::is_nan(x));
        CHECK(detail::is_infinite(x));
    }
    for (const Real& x :
         opaque<Real>({limits::quiet_NaN(), -limits::quiet_NaN(), limits::signaling_NaN()})) {
        CHECK_FALSE(detail::is_finite(x));
        CHECK(detail::is_nan(x));
        CHECK_FALSE(detail::is_infinite(x));
    }
}

}  // namespace

TEST_CASE("is_finite, is_nan, is_infinite, is_zero: special values -> distinguished") {
    check_all<float>();
    check_all<double>();
}

static_assert(detail::is_finite(1.0f) &&
              !detail::is_finite(std::numeric_limits<double>::infinity()));
static_assert(detail::is_nan(std::numeric_limits<float>::quiet_NaN()) && !detail::is_nan(0.0));
