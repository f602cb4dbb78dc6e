#pragma once

#include <cstddef>
#include <exception>
#include <thread>
#include <vector>

#include "sotto/core/errors.hpp"
#include "sotto/transports/fail_with_exception.hpp"

namespace sotto::testing {

/// Every rank on a thread of its own, with the endpoint that make(rank) returns. Throws what the
/// first rank that failed threw, or whoever noticed it.
template <class Make, class F>
void run_ranks_on_threads(int size, Make make, F f) {
    std::vector<std::exception_ptr> thrown(static_cast<std::size_t>(size));
    const auto run = [&](int rank) {
        try {
            auto endpoint = make(rank);
            try {
                f(endpoint);
            } catch (...) {
                fail_with_exception(endpoint);
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

}  // namespace sotto::testing
