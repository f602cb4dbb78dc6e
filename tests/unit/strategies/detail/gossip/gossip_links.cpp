#include "sotto/strategies/detail/gossip/gossip_links.hpp"

#include <doctest/doctest.h>

#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <vector>

#include "sotto/strategies/gossip/control/fixed_rounds.hpp"
#include "sotto/strategies/gossip/mixing/gradient_tracking.hpp"
#include "sotto/strategies/gossip/mixing/push_sum.hpp"
#include "sotto/optimizers/sgd.hpp"
#include "sotto/strategies/all_reduce.hpp"
#include "sotto/strategies/gossip.hpp"
#include "sotto/topologies/edge_list.hpp"
#include "sotto/topologies/detail/mixing_graph.hpp"
#include "support/training.hpp"

using namespace sotto;
using testing::exercise, testing::train, testing::trained;

namespace {

/// Drawn anew in each round: one more of the links of rank 0 each time, all of them from then on.
struct grows {
    struct state {
        topologies::mixing_matrix matrix_;

        const topologies::mixing_matrix& matrix(std::int64_t round) {
            matrix_.clear();
            for (int rank = 1; rank < matrix_.size() && rank <= round + 1; ++rank)
                matrix_.link_both(0, rank, 0.125);
            return matrix_;
        }
        std::int64_t period() const { return 0; }
    };
    state bind(int size) const { return {topologies::mixing_matrix(size)}; }
    void describe(auto&&) const {}
};

}  // namespace

TEST_CASE("rounds that are drawn anew may have more links than the first, by every way to mix") {
    const sgd plain{.learning_rate = 0.0625};
    const exercise work{.examples = 120, .batch_size = 4};
    const auto expected = mean(train(6, all_reduce{plain}, work));
    const auto keeps = [&](const auto& method) {
        const auto left = train(6, gossip{plain, grows{}, fixed_rounds{2}, none{}, method}, work);
        const auto found = mean(left);
        for (std::size_t i = 0; i < found.size(); ++i)
            CHECK(found[i] == doctest::Approx(expected[i]).epsilon(1e-3));
    };
    keeps(mixing::adapt_then_combine{});
    keeps(mixing::gradient_tracking{});
    keeps(mixing::push_sum{});
}

TEST_CASE("of links that are drawn anew the most of many rounds are logged") {
    const gossip strategy{sgd{}, grows{}};
    detail::gossip_links<std::remove_const_t<decltype(strategy)>> links(strategy, 6);
    CHECK(links.period() == 0);
    CHECK(links.summary().degree == 1);
    CHECK(links.drawn(9).degree() == 5);
    const auto graph = sotto::detail::topologies::graph_of(
        6, links.period(),
        links.summary().second_singular_value, [&](std::int64_t round) -> const auto& {
            return links.matrix(round);
        });
    CHECK(graph.degree == 5);
}

TEST_CASE("a graph that is refused is named, by its file where it has one") {
    const topologies::edge_list heavy{
        {{0, 1, 0.75}, {1, 2, 0.5}, {2, 3, 0.25}}, false, "graph.txt"};
    const auto refuses = [&](const auto& method, const char* why) {
        CHECK_THROWS_WITH_AS(train(4, gossip{sgd{}, heavy, no_control{}, none{}, method}),
                             doctest::Contains(why), invalid_option);
    };
    refuses(mixing::adapt_then_combine{},
            "topology 'graph.txt': row 1 adds up to 1.250000; rows and columns of a mixing matrix");
    refuses(mixing::push_sum{},
            "topology 'graph.txt': the links out of rank 1 take all that it has, or more");
}
