#pragma once

#include "sotto/transports/detail/tcp/tcp_resolver.hpp"

#include <algorithm>
#include <chrono>
#include <utility>

#include "sotto/core/config.hpp"
#include "sotto/core/detail/processes/thread.hpp"
#include "sotto/core/errors.hpp"
#include "sotto/transports/detail/tcp/tcp_socket.hpp"

namespace sotto::detail::net {

SOTTO_DECL resolved ask_system(const std::string& name) {
    boost::system::error_code why;
    asio::io_context context;  // opens nothing, because it only resolves synchronously
    asio::ip::tcp::resolver system(context);
    const auto found = system.resolve(name, "", why);
    resolved answer{.why_not = why.message()};
    if (!why)
        for (const auto& entry : found) answer.addresses.push_back(entry.endpoint().address());
    std::stable_partition(answer.addresses.begin(), answer.addresses.end(),
                          [](const asio::ip::address& each) { return each.is_v4(); });
    return answer;
}

SOTTO_DECL void pending_lookup::ask(const resolver& by, const std::string& name) {
    if (shared_) return;
    auto shared = std::make_shared<answer>();
    try {
        // The thread may outlive this rank: a resolver takes seconds to report that it found
        // nothing.
        start_thread("tcp: the thread that looks up a name", [shared, by, name] {
            resolved found;
            try {
                found = by(name);
            } catch (...) {  // treated as an unknown name
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

SOTTO_DECL std::optional<resolved> pending_lookup::take(time_point until) {
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

SOTTO_DECL resolved look_up(const resolver& by, const std::string& name, deadline& limit) {
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
