#include "sotto/strategies/detail/gossip/copy_exchange.hpp"

#include <doctest/doctest.h>

#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <vector>

#include "sotto/collectives/detail/operation.hpp"
#include "sotto/compressors/none.hpp"
#include "sotto/topologies/complete.hpp"
#include "sotto/topologies/edge_list.hpp"
#include "sotto/transports/run_in_process.hpp"

using namespace sotto;

namespace {

/// What each rank has after two rounds, where one of them had 1 and the others 0: copies are equal
/// after the first, so that the second moves everybody by the weights alone.
template <class Topology>
std::vector<double> moved_from(std::size_t holder, const Topology& topology, int ranks) {
    std::vector<double> found(static_cast<std::size_t>(ranks));
    layout tensors;
    tensors.add("place", {1});
    run_in_process(ranks, [&](auto& transport) {
        const auto me = static_cast<std::size_t>(transport.rank());
        const auto links = topology.bind(ranks);
        auto compressor = none{}.bind(tensors);
        std::vector<float> x{me == holder ? 1.0f : 0.0f};
        detail::copy_exchange<none> copies(tensors, compressor, links.matrix(0), transport);
        for (std::uint64_t round = 0; round < 2; ++round) {
            copies.settle(compressor);
            copies.start(compressor, x, 1.0, round);
            detail::collectives::run(transport, copies);
            copies.check(compressor);
        }
        copies.commit(compressor);
        found[me] = x[0];
    });
    return found;
}

}  // namespace

TEST_CASE("what ranks gain of another's copy is what it loses, exactly, whatever the weights") {
    const auto keeps_sum = [](const auto& topology, int ranks) {
        for (std::size_t holder = 0; holder < static_cast<std::size_t>(ranks); ++holder) {
            double sum = 0.0;
            for (const double x : moved_from(holder, topology, ranks)) sum += x;
            CHECK(sum == 1.0);
        }
    };
    for (const int ranks : {3, 6, 8, 10, 12}) {  // each has 2, 5, 7, 9 or 11 neighbours
        CAPTURE(ranks);
        keeps_sum(topologies::complete{}, ranks);
    }
    keeps_sum(topologies::edge_list{{{0, 1, 0.1}, {1, 2, 0.7}, {2, 3, 0.003}, {3, 0, 0.3}}}, 4);
}
