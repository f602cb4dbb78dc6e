#pragma once

#include <poll.h>

#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "sotto/core/clock.hpp"
#include "sotto/core/deadline.hpp"
#include "sotto/core/result.hpp"
#include "sotto/transports/detail/messaging/message_exchange.hpp"
#include "sotto/transports/detail/tcp/tcp_control.hpp"
#include "sotto/transports/detail/tcp/tcp_socket.hpp"

namespace sotto::detail::net {

/// Connections of a rank for messages. Moves bytes between them and a message_exchange, when it is
/// called.
class tcp_links {
public:
    tcp_links(message_exchange& exchange, tcp_control& control,
              std::vector<std::unique_ptr<tcp_socket>> sockets);

    bool is_open(int peer) const noexcept { return at(peer) != nullptr; }
    bool any_open() const noexcept;

    /// True if there is a connection to every other rank.
    bool all_open() const noexcept;

    /// Sets the connection to a new process of this rank.
    void open(int peer, std::unique_ptr<tcp_socket> socket);
    void forget(int peer) noexcept;
    void close() noexcept;
    /// Closes the connections once all sent data has arrived, while `lives` returns true.
    template <class Lives>
    void close_when_heard(duration most, Lives&& lives) {
        take_from_control();
        net::close_when_heard(sockets_, most, lives);
    }

    // Moving bytes

    /// Moves bytes, but not on every call. Every transfer is a chance to move bytes, but a system
    /// call each time would cost more than it moves.
    void move_now_and_then();

    /// Reads expected data from the system and writes queued data to it. `keeps`: also reads
    /// messages up to this size that have no receive. `from_all`: also reads from ranks from which
    /// nothing is expected, and all of their data.
    void move(std::int64_t keeps, bool from_all = false);

    /// The same. Short messages without a receive are read only if there is nothing else to do.
    template <class Done>
    bool move_until(Done&& done, std::int64_t keeps = short_max) {
        move(0);
        if (done()) return true;
        if (!halted_) return false;
        move(keeps);
        return done();
    }

    /// True if a link has halted before a message without a receive.
    bool halted() const noexcept { return halted_; }

    void write(int peer);
    void write_to_all();

    void read(int peer, std::int64_t keeps = keeps_all);
    /// Reads everything that arrived.
    void read_all();

    /// Blocks until data arrives, a full connection has room, `woken` rings, or one of `others` is
    /// ready; or for at most `most`.
    void sleep(duration most, wake_up& woken, std::span<const pollfd> others = {});

    /// For a rank whose connection here has ended, though it has not failed yet: the cause, once
    /// there was time for a better one to arrive.
    std::optional<std::string> why_lost(int peer);

private:
    static constexpr std::int64_t short_max = 16384;  // copied only if there is nothing else to do
    static constexpr duration full_max = std::chrono::milliseconds(10);
    // Time for the cause to arrive from a rank whose connection for messages ended.
    static constexpr duration grace = std::chrono::milliseconds(500);

    static time_point now() noexcept { return std::chrono::steady_clock::now(); }
    int size() const noexcept { return static_cast<int>(sockets_.size()); }
    std::unique_ptr<tcp_socket>& at(int peer) noexcept;
    const std::unique_ptr<tcp_socket>& at(int peer) const noexcept;

    void use(int peer);
    /// Call it before they are closed: their descriptors may then be reused.
    void take_from_control() noexcept;

    /// Returns true unless a rank sent invalid data.
    bool take(int peer, const std::optional<fault>& why);

    /// Removes a connection that cannot be used any more. The control connection knows the cause
    /// better, unless bytes were altered on this one.
    void lose(int peer, const moved& end);

    message_exchange* exchange_;
    tcp_control* control_;
    std::vector<std::unique_ptr<tcp_socket>> sockets_;  // by rank
    time_point moved_at_{}, full_at_{};
    deadline cause_due_{{}, {}};  // for the cause from the rank whose connection ended last
    bool halted_ = false;
    bool full_ = false;                // some connection did not accept all queued data
    std::map<int, std::string> lost_;  // by rank: how its connection ended
    std::vector<pollfd> waits_;
    std::vector<int> waiting_ranks_;  // their ranks
};

}  // namespace sotto::detail::net

#ifndef SOTTO_SEPARATE_COMPILATION
#include "sotto/transports/detail/tcp/tcp_links.ipp"
#endif
