#pragma once

#include <tuple>

#include "sotto/transports/group.hpp"
#include "sotto/transports/in_process.hpp"
#include "sotto/transports/metered.hpp"
#include "sotto/transports/run_in_process.hpp"
#include "support/over_simulated.hpp"

namespace sotto::testing {

// A transport under test: run(size, f) calls f(endpoint) once for each of `size` ranks, at the same
// time, and throws what the first failed rank threw. world_rank(r) is what errors call rank r. No f
// starts before the ranks that are left out have done all they do: they meet by the world's vote.
// See also over_simulated.hpp.

struct over_in_process {
    static int world_rank(int rank) { return rank; }

    template <class F>
    static void run(int size, F f) {
        run_in_process(size, f);
    }
};

struct over_metered {
    static int world_rank(int rank) { return rank; }

    template <class F>
    static void run(int size, F f) {
        run_in_process(size, [&](in_process& inner) {
            metered endpoint(inner, 4);
            f(endpoint);
        });
    }
};

// Rank 0 of the world is alone in a group, so that all numbers differ from the world's.
struct over_group {
    static int world_rank(int rank) { return rank + 1; }

    template <class F>
    static void run(int size, F f) {
        run_in_process(size + 1, [&](in_process& world) {
            auto endpoint = split(world, world.rank() == 0 ? 0 : 1);
            world.agree(true);
            if (world.rank() != 0) f(endpoint);
        });
    }
};

// Every second rank of a group that leaves out the first two ranks of the world.
struct over_group_of_group {
    static int world_rank(int rank) { return 2 * rank + 2; }

    template <class F>
    static void run(int size, F f) {
        run_in_process(2 * size + 2, [&](in_process& world) {
            auto outer = split(world, world.rank() < 2 ? 0 : 1);
            auto endpoint = split(outer, outer.rank() % 2);
            world.agree(true);
            if (world.rank() >= 2 && outer.rank() % 2 == 0) f(endpoint);
        });
    }
};

using all_transports =
    std::tuple<over_in_process, over_metered, over_group, over_group_of_group, over_simulated>;

}  // namespace sotto::testing
