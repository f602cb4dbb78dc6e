#pragma once

#include "sotto/launch/detail/heard_signals.hpp"

#include <unistd.h>

#include "sotto/core/config.hpp"
#include "sotto/launch/detail/system_calls.hpp"

namespace sotto::detail::launch {

SOTTO_DECL heard_signals::heard_signals(std::initializer_list<int> all) {
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

SOTTO_DECL std::optional<int> heard_signals::next() noexcept {
    signalfd_siginfo told{};
    const ssize_t count =
        uninterrupted([&] { return ::read(source_.handle(), &told, sizeof told); });
    if (count != sizeof told) return std::nullopt;
    return static_cast<int>(told.ssi_signo);
}

}  // namespace sotto::detail::launch
