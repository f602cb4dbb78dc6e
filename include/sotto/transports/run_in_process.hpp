#pragma once

#include <atomic>
#include <cstddef>
#include <exception>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "sotto/core/exit_code.hpp"
#include "sotto/core/detail/processes/owner_process.hpp"
#include "sotto/core/detail/processes/thread.hpp"
#include "sotto/transports/fail_with_exception.hpp"
#include "sotto/transports/in_process.hpp"
#include "sotto/transports/detail/in_process/in_process_hub.hpp"

namespace sotto::detail::local {

/// Runs one rank to its end and tells the others how it ended. In a child of fork() there are no
/// others: what f throws there is thrown here.
template <class F>
void run_rank(in_process_hub& hub, int rank, F& f, std::exception_ptr& thrown,
              std::atomic<int>& first_to_throw) {
    const owner_process owner;
    try {
        in_process endpoint(hub, rank);
        f(endpoint);
        endpoint.withdraw();
        if (owner.is_this()) hub.leave(rank);
    } catch (...) {
        if (!owner.is_this()) throw;
        thrown = std::current_exception();
        int nobody = -1;
        first_to_throw.compare_exchange_strong(nobody, rank);
        hub.fail(rank, text_of_current_exception(), kind_of_current_exception());
    }
}

// As a parameter that nobody passes: its default argument makes the compiler read the body of f at
// the call. A misuse within a generic lambda is then told 5 lines into GCC's output, after what is
// wrong and where the lambda was called, and not after 10 lines of who instantiates whom.
struct body_is_read {
    constexpr body_is_read(bool) noexcept {}
};

}  // namespace sotto::detail::local

namespace sotto {

/// Runs `f(transport)` once for every rank, each on its own thread, with an `in_process&`; returns
/// when all returned. Rank 0 runs on the calling thread. All threads call the same `f`, at once.
///   errors  a rank that throws ends all the others: whatever they wait for throws peer_failure.
///           The exception of the first rank that failed is then thrown here. io_failure: the
///           system refuses a thread. Others: see in_process and in_process_options
template <class F>
void run_in_process(
    int workers, in_process_options options, F&& f,
    detail::local::body_is_read = requires(F & g, in_process& t) { g(t); }) {
    static_assert(
        requires(F & g, in_process & t) { g(t); },
        "run_in_process needs a function that takes an in_process&");
    detail::in_process_hub hub(workers, std::move(options));
    std::vector<std::exception_ptr> thrown(static_cast<std::size_t>(workers));
    std::atomic<int> first_to_throw = -1;
    {
        detail::owned_by_process<std::vector<std::jthread>> threads;
        threads->reserve(thrown.size());
        int rank = 1;
        try {
            for (; rank < workers; ++rank)
                threads->push_back(detail::start_user_thread<std::jthread>(
                    "run_in_process: the thread of rank " + std::to_string(rank) + " of " +
                        std::to_string(workers),
                    [&, rank]() noexcept {
                        detail::local::run_rank(
                            hub, rank, f, thrown[static_cast<std::size_t>(rank)], first_to_throw);
                    }));
        } catch (const std::exception& e) {
            // The system has no thread left: the ranks that run must not wait for it.
            hub.fail(rank, e.what());
            throw;
        }
        detail::local::run_rank(hub, 0, f, thrown[0], first_to_throw);
    }
    if (first_to_throw < 0) return;
    // A rank that was too late, or left, may have thrown nothing itself: then whoever noticed it.
    const auto& original = thrown[static_cast<std::size_t>(hub.first_failure().rank)];
    std::rethrow_exception(original ? original : thrown[static_cast<std::size_t>(first_to_throw)]);
}

/// With options as they are by default.
template <class F>
void run_in_process(
    int workers, F&& f, detail::local::body_is_read = requires(F & g, in_process& t) { g(t); }) {
    run_in_process(workers, in_process_options{}, std::forward<F>(f));
}

}  // namespace sotto
