#include "sotto/collectives/hierarchical.hpp"

#include <doctest/doctest.h>

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "sotto/collectives/detail/all_gather_values.hpp"
#include "sotto/core/errors.hpp"
#include "sotto/transports/run_in_process.hpp"

using namespace sotto;
using namespace sotto::collectives;
using namespace sotto::detail::collectives;

TEST_CASE("ranks in a row share a host, and the last host may have fewer") {
    const hierarchical three{.ranks_per_host = 3};
    CHECK(three.host_of(0, 8) == range{0, 3});
    CHECK(three.host_of(5, 8) == range{3, 6});
    CHECK(three.host_of(7, 8) == range{6, 8});
    CHECK(three.host_number(7) == 2);
    CHECK(three.hosts(8) == 3);
    CHECK(three.hosts(9) == 3);
    CHECK(hierarchical{}.host_of(5, 8) == range{5, 6});
    CHECK(hierarchical{.ranks_per_host = 100}.host_of(5, 8) == range{0, 8});
    for (const std::int64_t none : {0, -1})
        CHECK_THROWS_AS(hierarchical{.ranks_per_host = none}.host_of(0, 4), invalid_option);
}

TEST_CASE("each rank talks to its host's, and the first of each host to each other") {
    run_in_process(7, [](in_process& world) {
        hosts groups(world, {.ranks_per_host = 3});
        const int rank = world.rank(), first = rank - rank % 3;
        CHECK(groups.inside().size() == (first == 6 ? 1 : 3));
        CHECK(groups.inside().rank() == rank - first);
        CHECK(groups.leads() == (rank == first));
        std::vector<int> inside(static_cast<std::size_t>(groups.inside().size()));
        all_gather_values(groups.inside(), rank, std::span(inside), {});
        for (std::size_t i = 0; i < inside.size(); ++i)
            CHECK(inside[i] == first + static_cast<int>(i));
        if (groups.leads()) {
            std::vector<int> leaders(3);
            all_gather_values(groups.leaders(), rank, std::span(leaders), {});
            CHECK(leaders == std::vector<int>{0, 3, 6});
        }
    });
}
