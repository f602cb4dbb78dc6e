#pragma once

#include "sotto/transports/run_in_process.hpp"

#include <atomic>
#include <cstddef>
#include <exception>
#include <string>
#include <thread>
#include <vector>

#include "sotto/core/config.hpp"
#include "sotto/core/detail/processes/owner_process.hpp"
#include "sotto/core/detail/processes/thread.hpp"
#include "sotto/core/exit_code.hpp"
#include "sotto/transports/detail/in_process/in_process_hub.hpp"
#include "sotto/transports/fail_with_exception.hpp"

namespace sotto::detail::local {

SOTTO_DECL void run_ranks(int workers, in_process_options options, void* f,
                          void (*call)(void* f, in_process& endpoint)) {
    in_process_hub hub(workers, std::move(options));
    std::vector<std::exception_ptr> thrown(static_cast<std::size_t>(workers));
    std::atomic<int> first_to_throw = -1;
    // Runs one rank to its end and reports the end to the others. A child of fork() has no others:
    // an exception of f is rethrown there.
    const auto run_rank = [&](int rank) {
        const owner_process owner;
        try {
            in_process endpoint(hub, rank);
            call(f, endpoint);
            endpoint.withdraw();
            if (owner.is_this()) hub.leave(rank);
        } catch (...) {
            if (!owner.is_this()) throw;
            thrown[static_cast<std::size_t>(rank)] = std::current_exception();
            int no_rank = -1;
            first_to_throw.compare_exchange_strong(no_rank, rank);
            hub.fail(rank, text_of_current_exception(), kind_of_current_exception());
        }
    };
    {
        owned_by_process<std::vector<std::jthread>> threads;
        threads->reserve(thrown.size());
        int rank = 1;
        try {
            for (; rank < workers; ++rank)
                threads->push_back(start_user_thread<std::jthread>(
                    "run_in_process: the thread of rank " + std::to_string(rank) + " of " +
                        std::to_string(workers),
                    [&run_rank, rank]() noexcept { run_rank(rank); }));
        } catch (const std::exception& e) {
            // The system has no thread left: the running ranks must not wait for it.
            hub.fail(rank, e.what());
            throw;
        }
        run_rank(0);
    }
    if (first_to_throw < 0) return;
    // A rank that was late or left may have thrown nothing. Then rethrow the exception of the rank
    // that noticed it.
    const auto& original = thrown[static_cast<std::size_t>(hub.first_failure().rank)];
    std::rethrow_exception(original ? original : thrown[static_cast<std::size_t>(first_to_throw)]);
}

}  // namespace sotto::detail::local
