#pragma once

#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <string>
#include <utility>

namespace sotto {

/// The network that a transport's ranks talk over, in words with its figures, where it exists only
/// in simulated time: then all times are simulated, too. Empty on a real one.
template <class Transport>
std::string simulated_network_of(const Transport& transport) {
    if constexpr (requires { transport.simulated_network(); })
        return transport.simulated_network();
    else
        return {};
}

/// What somebody who looks on should know the moment it happens: a rank that went or came again, a
/// gradient that was dropped, a save that failed.
struct remark {
    int rank = 0;        // that says it
    std::string text{};  // one line
};

/// Says it on standard error, in a line of its own, on a terminal in place of one that is redrawn.
inline void say_remark(const remark& said) {
    std::fprintf(stderr, "%ssotto: rank %d: %s\n", ::isatty(2) == 1 ? "\r\033[K" : "", said.rank,
                 said.text.c_str());
}

/// Who is told of every remark of this process, at any time and by any thread; null: nobody.
inline std::atomic<void (*)(const remark&)> on_remark{say_remark};

/// What one rank remarks. Ranks of a simulated network are silent: a search over seeds loses ranks
/// by the thousand.
class remarks {
public:
    template <class Transport>
    static remarks of(const Transport& through) {
        return remarks(through.rank(), !simulated_network_of(through).empty());
    }
    remarks(int rank, bool silent) noexcept : rank_(rank), silent_(silent) {}

    void say(std::string text) const {
        void (*const tell)(const remark&) = on_remark.load();
        if (silent_ || !tell) return;
        std::replace(text.begin(), text.end(), '\n', ' ');
        tell({rank_, std::move(text)});
    }

private:
    int rank_;
    bool silent_;
};

}  // namespace sotto
