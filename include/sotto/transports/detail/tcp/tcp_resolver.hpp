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

/// The addresses of a host, or why there are none.
struct resolved {
    std::vector<asio::ip::address> addresses{};  // IPv4 first, so that all ranks take the same kind
    std::string why_not{};
};

/// Looks up the name of a host; the system's resolver, or a test's.
using resolver = std::function<resolved(const std::string& name)>;

/// The resolver of this machine, which may take seconds to answer.
resolved ask_system(const std::string& name);

/// A question to a resolver that is answered in the background, however long that takes.
class pending_lookup {
public:
    /// Asks, unless the last question is not answered yet, or no thread is left to ask.
    void ask(const resolver& by, const std::string& name);

    /// Whether a question is open.
    bool waits() const noexcept { return shared_ != nullptr; }

    /// The answer, if it is there by `until`.
    std::optional<resolved> take(time_point until = {});

private:
    struct answer {
        std::mutex mutex;
        std::condition_variable is_there;
        std::optional<resolved> found;
    };
    std::shared_ptr<answer> shared_;  // of the question that is open
};

/// Asks and waits for the answer, which may take longer than `limit`. It looks at the limit
/// meanwhile: that a resolver is slow is no halt of this process.
resolved look_up(const resolver& by, const std::string& name, deadline& limit);

}  // namespace sotto::detail::net

#ifndef SOTTO_SEPARATE_COMPILATION
#include "sotto/transports/detail/tcp/tcp_resolver.ipp"
#endif
