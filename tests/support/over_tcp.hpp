#pragma once

#include <cstddef>
#include <exception>
#include <thread>
#include <vector>

#include "sotto/core/errors.hpp"
#include "sotto/transports/tcp.hpp"

namespace sotto::testing {

// As run_in_process, over TCP: every rank on a thread of its own, with connections of its own.
template <class F>
void run_over_tcp(int size, tcp_options options, F f) {
    options.size = size;
    options.port = 0;
    tcp::meeting first(options);
    options.port = first.port();
    std::vector<std::exception_ptr> thrown(static_cast<std::size_t>(size));
    const auto run = [&](int rank) {
        try {
            tcp_options own = options;
            own.rank = rank;
            tcp endpoint = rank == 0 ? first.join() : tcp::join(own);
            try {
                f(endpoint);
            } catch (const std::exception& e) {
                endpoint.fail(e.what());
                throw;
            }
        } catch (...) {
            thrown[static_cast<std::size_t>(rank)] = std::current_exception();
        }
    };
    {
        std::vector<std::jthread> threads;
        for (int rank = 1; rank < size; ++rank) threads.emplace_back([&, rank] { run(rank); });
        run(0);
    }
    // What the first rank that failed threw, or whoever noticed it.
    std::exception_ptr noticed;
    for (const std::exception_ptr& e : thrown) {
        if (!e) continue;
        try {
            std::rethrow_exception(e);
        } catch (const peer_failure&) {
            noticed = e;
        } catch (...) {
            throw;
        }
    }
    if (noticed) std::rethrow_exception(noticed);
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
