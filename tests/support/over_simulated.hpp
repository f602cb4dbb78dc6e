#pragma once

#include "sotto/transports/run_simulated.hpp"
#include "sotto/transports/simulated.hpp"

namespace sotto::testing {

struct over_simulated {
    static constexpr bool sends_ahead = true;
    static int world_rank(int rank) { return rank; }

    template <class F>
    static void run(int size, F f) {
        run_simulated(size, {}, f);
    }
};

}  // namespace sotto::testing
