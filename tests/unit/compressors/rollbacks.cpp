// What a round that fails leaves of a compressor's memory. A compressor that wraps another one
// commits and rolls it back exactly once.

#include <doctest/doctest.h>

#include <cstdint>
#include <span>
#include <vector>

#include "sotto/compressors/dgc.hpp"
#include "sotto/compressors/ef21.hpp"
#include "sotto/compressors/error_feedback.hpp"
#include "sotto/compressors/residual.hpp"
#include "sotto/compressors/scaled_down.hpp"
#include "sotto/compressors/sparsified.hpp"
#include "sotto/compressors/top_k.hpp"
#include "support/counted_compressor.hpp"
#include "support/generators.hpp"
#include "support/snapshot.hpp"

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

namespace {

/// Two matrices that are both encoded in a round that fails, and only the second one in the next.
template <class Compressor>
void leaves_what_is_not_encoded(const Compressor& options) {
    const layout tensors = layout().add("first", {8, 4}).add("second", {8, 4});
    auto state = options.bind(tensors);
    std::int64_t seed = 0;
    const auto encode = [&](std::int64_t step, std::int64_t from) {
        detail::compressing::begin_round(state, {.step = step, .share = 1.0});
        for (std::int64_t t = from; t < 2; ++t) {
            const auto gradient =
                testing::normal_values(tensors[t].size, static_cast<std::uint64_t>(++seed));
            bytes message;
            state.encode(tensors[t], gradient, message);
            if constexpr (detail::compressing::has_after_sum<state_of<Compressor>>) {
                std::vector<float> sum(gradient.size());
                state.decode_add(tensors[t], message, sum);
                state.after_sum(tensors[t], sum);
            }
        }
    };
    encode(0, 0);
    state.commit();
    const testing::snapshot before(state);
    encode(1, 0);
    state.rollback();
    CHECK(testing::snapshot(state) == before);
    state.commit();  // of a round in which nothing was encoded
    CHECK(testing::snapshot(state) == before);
    encode(1, 0);
    state.rollback();
    encode(1, 1);
    state.commit();
    auto twin = options.bind(tensors);  // which never failed
    before.put_into(twin);
    seed -= 1;
    detail::compressing::begin_round(twin, {.step = 1, .share = 1.0});
    const auto gradient =
        testing::normal_values(tensors[1].size, static_cast<std::uint64_t>(++seed));
    bytes message;
    twin.encode(tensors[1], gradient, message);
    if constexpr (detail::compressing::has_after_sum<state_of<Compressor>>) {
        std::vector<float> sum(gradient.size());
        twin.decode_add(tensors[1], message, sum);
        twin.after_sum(tensors[1], sum);
    }
    twin.commit();
    CHECK(testing::snapshot(state) == testing::snapshot(twin));
}

}  // namespace

TEST_CASE("compressors: a failed round, then one of fewer tensors -> the others as before") {
    const top_k half{.density = 0.5};
    leaves_what_is_not_encoded(error_feedback{half});
    leaves_what_is_not_encoded(sparsified{half, residual{}});
    leaves_what_is_not_encoded(dgc{.density = 0.5, .warm_up_epochs = 0.0});
    leaves_what_is_not_encoded(ef21{half});
    leaves_what_is_not_encoded(ef21{half, 0.5});
}
