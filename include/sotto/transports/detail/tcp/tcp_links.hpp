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

/// A rank's connections for messages: moves bytes between them and a message_exchange, when it is
/// called.
class tcp_links {
public:
    tcp_links(message_exchange& exchange, tcp_control& control,
              std::vector<std::unique_ptr<tcp_socket>> sockets);

    bool is_open(int peer) const noexcept { return at(peer) != nullptr; }
    bool any_open() const noexcept;

    /// Whether there is a connection to every other rank.
    bool all_open() const noexcept;

    /// Another process is this rank now.
    void open(int peer, std::unique_ptr<tcp_socket> socket);
    void forget(int peer) noexcept;
    void close() noexcept;
    /// What was sent arrives, as long as its receivers live.
    template <class Lives>
    void close_when_heard(duration most, Lives&& lives) {
        take_from_control();
        net::close_when_heard(sockets_, most, lives);
    }

    // Moving bytes

    /// Every transfer is a chance to move bytes, but asking the system each time would cost more
    /// than it moves.
    void move_now_and_then();

    /// Asks the system for what is waited for, and gives it what it had no room for. `keeps`: also
    /// messages of so many bytes that no receive waits for; `from_all`: also of ranks from which
    /// nothing is waited for, and all of it.
    void move(std::int64_t keeps, bool from_all = false);

    /// The same; short messages that no receive waits for are taken only if there is nothing else.
    template <class Done>
    bool move_until(Done&& done, std::int64_t keeps = short_max) {
        move(0);
        if (done()) return true;
        if (!halted_) return false;
        move(keeps);
        return done();
    }

    /// Whether some link stands before a message that no receive waits for.
    bool halted() const noexcept { return halted_; }

    void write(int peer);
    void write_to_all();

    void read(int peer, std::int64_t keeps = keeps_all);
    /// All that came, until there is nothing more.
    void read_all();

    /// Until something comes, something that was full is not, `woken` rings, or one of `others` is
    /// ready; or for so long.
    void sleep(duration most, wake_up& woken, std::span<const pollfd> others = {});

    /// Of a rank whose connection here has ended, though it has not failed yet: what that means,
    /// once word of more would have come.
    std::optional<std::string> why_lost(int peer);

private:
    static constexpr std::int64_t short_max = 16384;  // copied while nothing else is to do
    static constexpr duration full_max = std::chrono::milliseconds(10);
    // For word of a rank whose connection for messages ended.
    static constexpr duration grace = std::chrono::milliseconds(500);

    static time_point now() noexcept { return std::chrono::steady_clock::now(); }
    int size() const noexcept { return static_cast<int>(sockets_.size()); }
    std::unique_ptr<tcp_socket>& at(int peer) noexcept;
    const std::unique_ptr<tcp_socket>& at(int peer) const noexcept;

    void use(int peer);
    /// Before they are closed, whose descriptors may then be others'.
    void take_from_control() noexcept;

    /// Whether what a rank sent could be used.
    bool take(int peer, const std::optional<fault>& why);

    /// The connection is of no more use. Why, the control connection knows better, except that
    /// bytes were altered on this one.
    void lose(int peer, const moved& end);

    message_exchange* exchange_;
    tcp_control* control_;
    std::vector<std::unique_ptr<tcp_socket>> sockets_;  // by rank
    time_point moved_at_{}, full_at_{};
    deadline cause_due_{{}, {}};  // from the rank whose connection ended last
    bool halted_ = false;
    bool full_ = false;                // some connection took not all there was to write
    std::map<int, std::string> lost_;  // by rank: how its connection ended
    std::vector<pollfd> waits_;
    std::vector<int> waiting_ranks_;  // whose they are
};

}  // namespace sotto::detail::net

#ifndef SOTTO_SEPARATE_COMPILATION
#include "sotto/transports/detail/tcp/tcp_links.ipp"
#endif
