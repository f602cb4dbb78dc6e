#include "sotto/trainer/detail/located.hpp"

#include <doctest/doctest.h>

#include <limits>
#include <stdexcept>
#include <string>

#include "sotto/core/errors.hpp"

using namespace sotto;
using sotto::detail::located;
using sotto::detail::step_place;

namespace {

template <class Thrown>
std::string text_of_located(const step_place& place, const Thrown& thrown) {
    try {
        located(place, [&] { throw thrown; });
    } catch (const Thrown& e) {
        return e.what();
    }
    return "another type";
}

}  // namespace

TEST_CASE("located: a value that is not finite -> step, epoch and last loss in the text") {
    CHECK(text_of_located({13, 2, 0.70123}, non_finite(1, "w", 3)) ==
          "the gradient of rank 1 is not finite: tensor 'w', element 3 (step 13, epoch 2, last "
          "loss 0.7012)");
    CHECK(text_of_located({1, 1, {}}, error(errc::non_finite, "the sum is not finite")) ==
          "the sum is not finite (step 1, epoch 1, last loss none yet)");
    CHECK(text_of_located({2, 1, -std::numeric_limits<double>::quiet_NaN()},
                          error(errc::non_finite, "the sum is not finite")) ==
          "the sum is not finite (step 2, epoch 1, last loss not finite)");
}

TEST_CASE("located: any other exception -> passes as it is") {
    const step_place place{13, 2, 0.5};
    CHECK(text_of_located(place, mismatch("rates differ")) == "rates differ");
    CHECK(text_of_located(place, std::domain_error("a callback")) == "a callback");
    const peer_failure lost(2, "not finite", {0, 12, "compute"}, errc::non_finite);
    CHECK(text_of_located(place, lost) == lost.what());
    CHECK(located(place, [] { return 7; }) == 7);
}
