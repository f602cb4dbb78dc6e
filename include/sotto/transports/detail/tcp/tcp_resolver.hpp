#pragma once

#include "sotto/transports/detail/tcp/tcp_socket.hpp"

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "sotto/core/clock.hpp"
#include "sotto/core/deadline.hpp"
#include "sotto/core/errors.hpp"
#include "sotto/core/detail/processes/thread.hpp"

namespace sotto::detail::net {

/// The addresses of a host, or why there are none.
struct resolved {
    std::vector<asio::ip::address> addresses{};  // IPv4 first, so that all ranks take the same kind
    std::string why_not{};
};

/// Looks up the name of a host; the system's resolver, or a test's.
using resolver = std::function<resolved(const std::string& name)>;

/// The resolver of this machine, which may take seconds to answer.
inline resolved ask_system(const std::string& name) {
    boost::system::error_code why;
    asio::io_context context;  // opens nothing: it is asked for nothing that waits
    asio::ip::tcp::resolver system(context);
    const auto found = system.resolve(name, "", why);
    resolved answer{.why_not = why.message()};
    if (!why)
        for (const auto& entry : found) answer.addresses.push_back(entry.endpoint().address());
    std::stable_partition(answer.addresses.begin(), answer.addresses.end(),
                          [](const asio::ip::address& each) { return each.is_v4(); });
    return answer;
}

/// A question to a resolver that is answered in the background, however long that takes.
class pending_lookup {
public:
    /// Asks, unless the last question is not answered yet, or no thread is left to ask.
    void ask(const resolver& by, const std::string& name) {
        if (shared_) return;
        auto shared = std::make_shared<answer>();
        try {
            // It may outlive this rank: a resolver takes seconds to report that it found nothing.
            start_thread("tcp: the thread that looks up a name", [shared, by, name] {
                resolved found;
                try {
                    found = by(name);
                } catch (...) {  // as if the name were unknown
                }
                const std::lock_guard lock(shared->mutex);
                shared->found = std::move(found);
                shared->is_there.notify_all();
            }).detach();
        } catch (const io_failure&) {
            return;
        }
        shared_ = std::move(shared);
    }

    /// Whether a question is open.
    bool waits() const noexcept { return shared_ != nullptr; }

    /// The answer, if it is there by `until`.
    std::optional<resolved> take(time_point until = {}) {
        if (!shared_) return std::nullopt;
        std::optional<resolved> found;
        {
            std::unique_lock lock(shared_->mutex);
            shared_->is_there.wait_until(lock, until, [&] { return shared_->found.has_value(); });
            found = std::exchange(shared_->found, std::nullopt);
        }
        if (found) shared_.reset();
        return found;
    }

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
inline resolved look_up(const resolver& by, const std::string& name, deadline& limit) {
    pending_lookup lookup;
    lookup.ask(by, name);
    while (lookup.waits()) {
        const time_point now = std::chrono::steady_clock::now();
        (void)limit.passed(now);
        if (auto found = lookup.take(now + waiting_time::slice_max)) return std::move(*found);
    }
    return by(name);
}

}  // namespace sotto::detail::net
