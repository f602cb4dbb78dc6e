#pragma once

#include <pthread.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <csignal>
#include <initializer_list>
#include <optional>

#include "sotto/launch/detail/system_calls.hpp"

namespace sotto::detail::launch {

/// While it lives, these signals do not end the process but are read from here. Those that the
/// process ignores stay ignored, as whoever started it with nohup or in the background wants it.
class heard_signals {
public:
    heard_signals(std::initializer_list<int> all) {
        sigset_t heard;
        ::sigemptyset(&heard);
        for (const int one : all) {
            struct sigaction is {};
            ::sigaction(one, nullptr, &is);
            if (is.sa_handler != SIG_IGN) ::sigaddset(&heard, one);
        }
        source_ = above_standard(descriptor(::signalfd(-1, &heard, SFD_CLOEXEC | SFD_NONBLOCK)));
        if (!source_) refuse_by_system("signals cannot be read");
        ::pthread_sigmask(SIG_BLOCK, &heard, &before_);
    }
    heard_signals(const heard_signals&) = delete;
    heard_signals& operator=(const heard_signals&) = delete;
    ~heard_signals() { ::pthread_sigmask(SIG_SETMASK, &before_, nullptr); }

    int handle() const noexcept { return source_.handle(); }

    /// The mask that programs are to begin with.
    const sigset_t& before() const noexcept { return before_; }

    /// The next one that came.
    std::optional<int> next() noexcept {
        signalfd_siginfo told{};
        const ssize_t count =
            uninterrupted([&] { return ::read(source_.handle(), &told, sizeof told); });
        if (count != sizeof told) return std::nullopt;
        return static_cast<int>(told.ssi_signo);
    }

private:
    descriptor source_;
    sigset_t before_{};
};

}  // namespace sotto::detail::launch
