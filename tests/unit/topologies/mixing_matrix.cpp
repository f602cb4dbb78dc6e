#include "sotto/topologies/mixing_matrix.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <limits>
#include <utility>
#include <vector>

#include "sotto/core/errors.hpp"

using sotto::detail::topologies::neighbour;
using sotto::topologies::by_degree;
using sotto::topologies::mixing_matrix;

TEST_CASE("a rank's own weight is what its links leave of 1, by row and by column") {
    mixing_matrix w(3);
    w.link(1, 0, 0.25).link(1, 2, 0.5).link(2, 0, 0.125);
    CHECK(w.own_weight(0) == 1.0);
    CHECK(w.own_weight(1) == 0.25);
    CHECK(w.kept_share(0) == 0.625);
    CHECK(w.weight(1, 2) == 0.5);
    CHECK(w.weight(2, 1) == 0.0);
    CHECK(w.weight(1, 1) == 0.25);
    CHECK(w.into(1).size() == 2);
    CHECK(w.into(1)[0] == sotto::detail::topologies::neighbour{0, 0.25});
    CHECK(w.out_of(0)[1] == sotto::detail::topologies::neighbour{2, 0.125});
    CHECK(w.degree() == 2);
    CHECK(w.degree_in() == 2);
}

TEST_CASE("a link that comes twice weighs both, and one to oneself nothing") {
    mixing_matrix w(2);
    w.link_both(0, 1, 0.2).link_both(1, 0, 0.2).link(0, 0, 0.5);
    CHECK(w.weight(0, 1) == 0.4);
    CHECK(w.own_weight(0) == 0.6);
}

TEST_CASE("links between ranks that are none, and weights that are none, are refused") {
    mixing_matrix w(4);
    CHECK_THROWS_WITH(w.link(4, 0, 0.1),
                      "topology: a link from rank 0 to 4, but there are ranks 0 to 3");
    CHECK_THROWS_WITH(w.link(0, -1, 0.1),
                      "topology: a link from rank -1 to 0, but there are ranks 0 to 3");
    CHECK_THROWS_WITH(w.link(0, 1, -0.1),
                      "topology: the link from rank 1 to 0 has weight -0.100000; it must be finite "
                      "and at least 0");
    CHECK_THROWS_AS(w.link(0, 1, std::nan("")), sotto::invalid_option);
    CHECK_THROWS_AS(w.link(0, 1, std::numeric_limits<double>::infinity()), sotto::invalid_option);
    CHECK_THROWS_WITH(mixing_matrix(0), "topology: 0 ranks; at least 1 is possible");
    CHECK(w == mixing_matrix(4));
}

TEST_CASE("a matrix that would move the mean is refused with the row that fails") {
    mixing_matrix one_way(3);
    one_way.link(1, 0, 0.5);
    CHECK_THROWS_WITH(one_way.require_doubly_stochastic(),
                      "topology: row 0 adds up to 1, its column to 1.500000; rows and columns of a "
                      "mixing matrix add up to 1, or the mean over the ranks would drift: give a "
                      "link the same weight both ways, or use mixing::push_sum");
    CHECK_NOTHROW(one_way.require_column_stochastic());

    mixing_matrix heavy(3);
    heavy.link_both(0, 1, 0.7).link_both(1, 2, 0.7);
    CHECK_THROWS_WITH(
        heavy.require_doubly_stochastic(),
        "topology: row 1 adds up to 1.400000; rows and columns of a mixing matrix add "
        "up to 1, or the mean over the ranks would drift: give a link the same weight "
        "both ways, or use mixing::push_sum");
    CHECK_THROWS_AS(heavy.require_column_stochastic(), sotto::invalid_option);

    mixing_matrix cycle(3);  // one way, but as much out of each as into it
    cycle.link(1, 0, 0.5).link(2, 1, 0.5).link(0, 2, 0.5);
    CHECK_NOTHROW(cycle.require_doubly_stochastic());
    CHECK_FALSE(cycle.is_symmetric());
}

TEST_CASE("weights by degree are those of Metropolis and Hastings") {
    // 0 - 1, 0 - 2, 0 - 3, 3 - 4: degrees 3, 1, 1, 2, 1
    const auto w =
        by_degree(5, std::vector<std::pair<int, int>>{{0, 1}, {2, 0}, {0, 3}, {3, 4}, {1, 0}});
    CHECK(w.weight(0, 1) == 0.25);
    CHECK(w.weight(3, 0) == 0.25);
    CHECK(w.weight(4, 3) == doctest::Approx(1.0 / 3.0));
    CHECK(w.weight(1, 2) == 0.0);
    CHECK(w.own_weight(0) == 0.25);
    CHECK(w.own_weight(1) == 0.75);
    CHECK(w.is_symmetric());
    CHECK_NOTHROW(w.require_doubly_stochastic());
}

TEST_CASE("cleared, a matrix takes the same links again without memory of the old ones") {
    mixing_matrix w(3);
    w.link_both(0, 1, 0.5);
    w.clear();
    CHECK(w == mixing_matrix(3));
    w.link_both(1, 2, 0.25);
    CHECK(w.own_weight(0) == 1.0);
    CHECK(w.own_weight(1) == 0.75);
}

TEST_CASE("the mean of all is known as such") {
    mixing_matrix w(3);
    w.link_both(0, 1, 1.0 / 3).link_both(1, 2, 1.0 / 3);
    CHECK_FALSE(w.is_mean());
    w.link_both(2, 0, 1.0 / 3);
    CHECK(w.is_mean());
    CHECK(mixing_matrix(1).is_mean());
    CHECK_FALSE(mixing_matrix(2).is_mean());
}
