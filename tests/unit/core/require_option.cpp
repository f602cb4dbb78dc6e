#include "sotto/core/require_option.hpp"

#include <doctest/doctest.h>

#include <cstdint>
#include <limits>
#include <string>

using namespace sotto;

namespace {

constexpr double not_a_number = std::numeric_limits<double>::quiet_NaN();
constexpr double infinity = std::numeric_limits<double>::infinity();

/// The text with which a value is refused; empty if it is not.
std::string refusal(auto value, const auto& range) {
    try {
        require_option("policy", "option", value, range);
    } catch (const invalid_option& e) {
        return e.what();
    }
    return {};
}

}  // namespace

TEST_CASE("require_option: no number in range -> names policy, option, value and range") {
    CHECK(refusal(-1.0, detail::allowed::at_least(0.0)) ==
          "policy: option is -1; it must be finite and at least 0");
    CHECK(refusal(0.0, detail::allowed::above(0.0)) ==
          "policy: option is 0; it must be finite and above 0");
    CHECK(refusal(1.5, detail::allowed::at_least(0.0).below(1.0)) ==
          "policy: option is 1.5; it must be at least 0 and below 1");
    CHECK(refusal(-0.5, detail::allowed::above(0.0).at_most(1.0).or_exactly(-1.0)) ==
          "policy: option is -0.5; it must be above 0 and at most 1, or -1");
    CHECK(refusal(not_a_number, detail::allowed::any_finite()) ==
          "policy: option is nan; it must be finite");
    CHECK(refusal(infinity, detail::allowed::any_finite()) ==
          "policy: option is inf; it must be finite");
    CHECK(refusal(0, detail::allowed::at_least(1)) == "policy: option is 0; it must be at least 1");
    CHECK(refusal(9, detail::allowed::at_least(1).at_most(8)) ==
          "policy: option is 9; it must be at least 1 and at most 8");
    try {
        require_option("policy", "option", -1.0, detail::allowed::at_least(0.0), ", or 0 for none");
        FAIL("accepted");
    } catch (const invalid_option& e) {
        CHECK(std::string(e.what()) ==
              "policy: option is -1; it must be finite and at least 0, or 0 for none");
    }
}

TEST_CASE("require_option: NaN and infinity -> in no range") {
    for (const double value : {not_a_number, -not_a_number, infinity, -infinity}) {
        CHECK_FALSE(detail::allowed::any_finite().holds(value));
        CHECK_FALSE(detail::allowed::at_least(0.0).holds(value));
        CHECK_FALSE(detail::allowed::above(0.0).at_most(1.0).holds(value));
        CHECK_FALSE(detail::allowed::at_least(0.0).or_exactly(-1.0).holds(value));
    }
}

TEST_CASE("require_option: a bound -> holds of the float, too") {
    // Beyond float, and what becomes 0 in one.
    CHECK_FALSE(detail::allowed::at_least(0.0).holds(1e39));
    CHECK_FALSE(detail::allowed::any_finite().holds(-1e39));
    CHECK_FALSE(detail::allowed::above(0.0).holds(1e-46));
    CHECK_FALSE(detail::allowed::above(0.0).holds(1e-39));
    CHECK(detail::allowed::at_least(0.0).holds(1e-39));
    CHECK(detail::allowed::at_least(0.0).holds(3e38));
    CHECK(detail::allowed::above(0.0).holds(1.2e-38));
    CHECK(refusal(1e39, detail::allowed::at_least(0.0)) ==
          "policy: option is 1e+39; it must be finite and at least 0, as a float");
    CHECK(refusal(1e-46, detail::allowed::above(0.0)) ==
          "policy: option is 1e-46; it must be finite and above 0, as a float");
    CHECK(refusal(1.0 - 1e-9, detail::allowed::at_least(0.0).below(1.0)) ==
          "policy: option is 0.999999999; it must be at least 0 and below 1, as a float");
    // As a float this is 1.
    CHECK_FALSE(detail::allowed::at_least(0.0).below(1.0).holds(1.0 - 1e-9));
    CHECK(detail::allowed::at_least(0.0).below(1.0).holds(1.0 - 1e-7));
    CHECK(detail::allowed::at_least(0.0).at_most(1.0).holds(1.0));
    CHECK(detail::allowed::at_least(0.0).holds(-0.0));
}

TEST_CASE("require_option: bounds and exceptions -> included as written") {
    CHECK(detail::allowed::at_least(0.0).holds(0.0));
    CHECK_FALSE(detail::allowed::above(0.0).holds(0.0));
    CHECK_FALSE(detail::allowed::at_least(0.0).below(1.0).holds(1.0));
    CHECK(detail::allowed::at_least(0.0).or_exactly(-1.0).holds(-1.0));
    CHECK_FALSE(detail::allowed::at_least(0.0).or_exactly(-1.0).holds(-2.0));
    CHECK(detail::allowed::at_least(1).holds(std::numeric_limits<std::int64_t>::max()));
    CHECK_FALSE(detail::allowed::at_least(1).holds(std::numeric_limits<std::int64_t>::min()));
    CHECK_FALSE(
        refusal(std::numeric_limits<std::uint64_t>::max(), detail::allowed::at_least(1)).empty());
}

TEST_CASE("require_option: a range of doubles -> holds what no float does") {
    const auto range = detail::allowed::above(0.0).as_double();
    CHECK(range.holds(1e300));
    CHECK(range.holds(1e-300));
    CHECK_FALSE(range.holds(0.0));
    CHECK_FALSE(range.holds(infinity));
    CHECK(refusal(-1e300, range) == "policy: option is -1e+300; it must be finite and above 0");
}
