#pragma once

#include <pthread.h>
#include <sys/signalfd.h>

#include <csignal>
#include <initializer_list>
#include <optional>

#include "sotto/core/detail/files/descriptor.hpp"

namespace sotto::detail::launch {

/// While it lives, these signals do not end the process but are read from this object. Signals that
/// the process ignores stay ignored: nohup and background jobs depend on this.
class heard_signals {
public:
    heard_signals(std::initializer_list<int> all);
    heard_signals(const heard_signals&) = delete;
    heard_signals& operator=(const heard_signals&) = delete;
    ~heard_signals() { ::pthread_sigmask(SIG_SETMASK, &before_, nullptr); }

    int handle() const noexcept { return source_.handle(); }

    /// Signal mask for programs that are started.
    const sigset_t& before() const noexcept { return before_; }

    /// Next signal received; nothing if there is none.
    std::optional<int> next() noexcept;

private:
    descriptor source_;
    sigset_t before_{};
};

}  // namespace sotto::detail::launch

#ifndef SOTTO_SEPARATE_COMPILATION
#include "sotto/launch/detail/heard_signals.ipp"
#endif
