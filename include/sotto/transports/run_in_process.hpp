#pragma once

#include <utility>

#include "sotto/transports/in_process.hpp"
#include "sotto/transports/in_process_options.hpp"

namespace sotto::detail::local {

/// Runs `call(f, endpoint)` for every rank: see run_in_process.
void run_ranks(int workers, in_process_options options, void* f,
               void (*call)(void* f, in_process& endpoint));

// A parameter that no caller passes. Its default argument makes the compiler read the body of f at
// the call. For a misuse inside a generic lambda, GCC then prints the error and the lambda's call
// within 5 lines, not after 10 lines of instantiations.
struct body_is_read {
    constexpr body_is_read(bool) noexcept {}
};

}  // namespace sotto::detail::local

namespace sotto {

/// Runs `f(transport)` once for every rank, each on its own thread, with an `in_process&`. Returns
/// when all have returned. Rank 0 runs on the calling thread. All threads call the same `f` at
/// once.
///   errors  if a rank throws, all other ranks throw peer_failure from their waits. Then this
///           function throws the exception of the first rank that failed. io_failure: the system
///           refuses a thread. Others: see in_process and in_process_options
template <class F>
void run_in_process(
    int workers, in_process_options options, F&& f,
    detail::local::body_is_read = requires(F & g, in_process& t) { g(t); }) {
    static_assert(
        requires(F & g, in_process & t) { g(t); },
        "run_in_process needs a function that takes an in_process&");
    auto body = [&f](in_process& endpoint) { f(endpoint); };
    detail::local::run_ranks(workers, std::move(options), &body, [](void* g, in_process& endpoint) {
        (*static_cast<decltype(body)*>(g))(endpoint);
    });
}

/// The same with default options.
template <class F>
void run_in_process(
    int workers, F&& f, detail::local::body_is_read = requires(F & g, in_process& t) { g(t); }) {
    run_in_process(workers, in_process_options{}, std::forward<F>(f));
}

}  // namespace sotto

#ifndef SOTTO_SEPARATE_COMPILATION
#include "sotto/transports/run_in_process.ipp"
#endif
