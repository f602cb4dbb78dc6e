// A compressor that wraps another one commits and rolls it back exactly once.

#include <doctest/doctest.h>

#include "sotto/compressors/ef21.hpp"
#include "sotto/compressors/error_feedback.hpp"
#include "sotto/compressors/scaled_down.hpp"
#include "support/counted_compressor.hpp"

using namespace sotto;
using testing::counted_compressor, testing::counts;

namespace {

/// The same, which tells a variance: what scaled_down takes.
struct counted_unbiased : counted_compressor {
    static constexpr bool unbiased = true;
    double variance(const tensor&) const { return 1.0; }
};

}  // namespace

TEST_CASE("a compressor in another: commit and rollback -> each arrives once") {
    const layout tensors = layout().add("weights", {6, 5});
    const auto check = [&](const auto& make) {
        counts of;
        auto state = make(&of).bind(tensors);
        state.rollback();
        CHECK(of == counts{0, 1});
        state.commit();
        CHECK(of == counts{1, 1});
    };
    check([](counts* of) { return error_feedback{counted_compressor{of}}; });
    check([](counts* of) { return ef21{counted_compressor{of}}; });
    check([](counts* of) { return scaled_down{counted_unbiased{{of}}}; });
}
