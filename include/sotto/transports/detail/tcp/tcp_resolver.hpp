#pragma once

#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "sotto/core/clock.hpp"
#include "sotto/core/deadline.hpp"
#include "sotto/transports/detail/tcp/tcp_socket.hpp"

namespace sotto::detail::net {

/// Addresses of a host, or why there are none.
struct resolved {
    std::vector<asio::ip::address> addresses{};  // IPv4 first, so that all ranks use the same kind
    std::string why_not{};
};

/// Looks up the name of a host: the system's resolver, or a test's.
using resolver = std::function<resolved(const std::string& name)>;

/// Resolver of this machine, which may take seconds to answer.
resolved ask_system(const std::string& name);

/// A lookup that runs in the background, for any length of time.
class pending_lookup {
public:
    /// Starts a lookup, unless the last one is not answered yet or no thread is left.
    void ask(const resolver& by, const std::string& name);

    /// True if a lookup is in progress.
    bool waits() const noexcept { return shared_ != nullptr; }

    /// The answer, if it is there by `until`.
    std::optional<resolved> take(time_point until = {});

private:
    struct answer {
        std::mutex mutex;
        std::condition_variable is_there;
        std::optional<resolved> found;
    };
    std::shared_ptr<answer> shared_;  // state of the lookup in progress
};

/// Looks up a name and waits for the answer, which may take longer than `limit`. It checks the
/// limit during the wait: a slow resolver does not count as a halt of this process.
resolved look_up(const resolver& by, const std::string& name, deadline& limit);

}  // namespace sotto::detail::net

#ifndef SOTTO_SEPARATE_COMPILATION
#include "sotto/transports/detail/tcp/tcp_resolver.ipp"
#endif
