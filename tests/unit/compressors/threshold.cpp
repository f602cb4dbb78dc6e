#include "sotto/compressors/threshold.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <cstdint>
#include <vector>

#include "sotto/core/errors.hpp"

using namespace sotto;

namespace {

using indices = std::vector<std::uint32_t>;

indices chosen(double limit, const std::vector<float>& values) {
    layout tensors;
    tensors.add("w", {static_cast<std::int64_t>(values.size()), 1});
    auto selector = threshold{.limit = limit}.bind_selector(tensors);
    const auto found = selector.select(tensors[0], values, 1);
    return {found.begin(), found.end()};
}

}  // namespace

TEST_CASE("the limit itself is reached, from either side of zero") {
    const float above = std::nextafter(0.5f, 1.0f), below = std::nextafter(0.5f, 0.0f);
    CHECK(chosen(0.5, {0.5f, -0.5f, below, -below, above, -above, 0.0f, 1e30f}) ==
          indices{0, 1, 4, 5, 7});
}

TEST_CASE("there may be none, or all, whatever k is asked for") {
    CHECK(chosen(1.0, std::vector<float>(10, 0.99f)).empty());
    CHECK(chosen(1.0, std::vector<float>(10, -1.0f)).size() == 10);
    CHECK(chosen(1.0, {}).empty());
}

TEST_CASE("its messages may be as long as the tensor") {
    layout tensors;
    tensors.add("w", {30, 30});
    const auto state = threshold{}.bind(tensors);
    CHECK(state.entries_max(tensors[0]) == 900);
    CHECK_FALSE(state.sums(tensors[0]));
}

TEST_CASE("a limit that is not positive is refused with its value") {
    CHECK_THROWS_WITH_AS(threshold{.limit = -1.0}.bind(layout{}),
                         "threshold: limit is -1; it must be finite and above 0", invalid_option);
    CHECK_THROWS_AS(threshold{.limit = 0.0}.bind(layout{}), invalid_option);
    CHECK_THROWS_AS(threshold{.limit = std::nan("")}.bind(layout{}), invalid_option);
}
