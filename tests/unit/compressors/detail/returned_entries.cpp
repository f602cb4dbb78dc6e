#include "sotto/compressors/detail/returned_entries.hpp"

#include <doctest/doctest.h>

#include <cstdint>
#include <span>
#include <vector>

#include "sotto/compressors/dgc.hpp"
#include "sotto/compressors/no_memory.hpp"
#include "sotto/compressors/residual.hpp"
#include "sotto/compressors/threshold.hpp"
#include "sotto/compressors/top_k.hpp"
#include "support/generators.hpp"
#include "support/snapshot.hpp"

using namespace sotto;

static_assert(detail::takes_back<dgc> && detail::takes_back<sparsified<top_k, residual>> &&
              detail::takes_back<sparsified<threshold, residual>>);
static_assert(!detail::takes_back<top_k> && !detail::takes_back<sparsified<top_k, no_memory>>);
static_assert(detail::compressing::plans_entries<state_of<dgc>> &&
              !detail::compressing::plans_entries<state_of<sparsified<threshold, residual>>>);

namespace {

const std::vector<std::uint32_t> places{1, 5, 299};
const std::vector<float> values{0.5f, -2.0f, 64.0f};

template <class State>
std::vector<float> unsent(const State& state, const tensor& t) {
    const auto found = state.memory().unsent(t);
    return {found.begin(), found.end()};
}

/// One round with a gradient; `returned`: entries come back in it.
template <class State>
void round(State& state, const tensor& t, std::int64_t step, bool returned) {
    state.begin_round({.step = step, .epoch = 10.0});
    bytes message;
    state.encode(t, testing::integer_values(t.size, static_cast<std::uint64_t>(step)), message);
    if (returned) state.take_back(t, places, values);
}

}  // namespace

TEST_CASE_TEMPLATE("what comes back is remembered from the commit on, besides what was not sent",
                   Compressor, sparsified<top_k, residual>, dgc) {
    const layout tensors = testing::small_layout();
    const tensor& t = tensors[0];
    auto state = Compressor{}.bind(tensors), twin = Compressor{}.bind(tensors);
    for (std::int64_t step = 0; step < 4; ++step) {
        round(twin, t, step, false);
        twin.commit();
        std::vector<float> expected = unsent(twin, t);
        for (int twice = 0; twice < 2; ++twice) {  // the second time for good
            round(state, t, step, true);
            if (twice == 0) state.rollback();
        }
        state.commit();
        for (std::size_t j = 0; j < places.size(); ++j) expected[places[j]] += values[j];
        CHECK(unsent(state, t) == expected);
        testing::snapshot(state).put_into(twin);
    }
}

TEST_CASE_TEMPLATE("entries come back also in a round without a gradient, and to no velocity",
                   Compressor, sparsified<top_k, residual>, dgc) {
    const layout tensors = testing::small_layout();
    const tensor& t = tensors[0];
    auto state = Compressor{}.bind(tensors);
    round(state, t, 0, false);
    state.commit();
    std::vector<float> expected = unsent(state, t);
    const testing::snapshot before(state);
    state.begin_round({.step = 1, .epoch = 10.0});
    state.take_back(t, places, values);
    state.rollback();
    CHECK(testing::snapshot(state) == before);
    state.commit();  // a round that nothing came back in
    CHECK(testing::snapshot(state) == before);
    state.take_back(t, places, values);
    state.commit();
    for (std::size_t j = 0; j < places.size(); ++j) expected[places[j]] += values[j];
    CHECK(unsent(state, t) == expected);
    if constexpr (requires { state.memory().velocity(t); }) {
        const auto velocity = state.memory().velocity(t);
        auto twin = Compressor{}.bind(tensors);
        before.put_into(twin);
        for (std::size_t i = 0; i < velocity.size(); ++i)
            CHECK(velocity[i] == twin.memory().velocity(t)[i]);
    }
}
