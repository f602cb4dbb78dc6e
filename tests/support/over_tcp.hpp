#pragma once

#include "sotto/transports/tcp.hpp"
#include "support/ranks_on_threads.hpp"

namespace sotto::testing {

// As run_in_process, over TCP: every rank on a thread of its own, with connections of its own.
template <class F>
void run_over_tcp(int size, tcp_options options, F f) {
    options.size = size;
    options.port = 0;
    tcp::meeting first(options);
    options.port = first.port();
    run_ranks_on_threads(
        size,
        [&](int rank) {
            tcp_options own = options;
            own.rank = rank;
            return rank == 0 ? first.join() : tcp::join(own);
        },
        f);
}

struct over_tcp {
    static constexpr bool sends_ahead = true;
    static int world_rank(int rank) { return rank; }

    template <class F>
    static void run(int size, F f) {
        run_over_tcp(size, {}, f);
    }
};

}  // namespace sotto::testing
