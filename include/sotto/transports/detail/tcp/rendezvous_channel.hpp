#pragma once

#include <poll.h>

#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "sotto/core/bytes.hpp"
#include "sotto/core/clock.hpp"
#include "sotto/core/deadline.hpp"
#include "sotto/core/detail/processes/owner_process.hpp"
#include "sotto/core/result.hpp"
#include "sotto/transports/detail/messaging/liveness.hpp"
#include "sotto/transports/detail/tcp/tcp_socket.hpp"
#include "sotto/transports/tcp_options.hpp"
#include "sotto/wire/detail/protocols/rendezvous_message.hpp"

namespace sotto::detail::net {

/// Connections between rank 0 and the other ranks, from the greeting until the job begins. Both
/// sides send a sign of life four times a second, and rendezvous messages.
///
/// A separate thread sends and receives signs of life. The thread that joins may be busy with
/// handshakes for longer than a rank may be silent. If the system has no thread left, the calls do
/// what they can.
class rendezvous_channel {
public:
    /// Event of a rank: a message, a message with the table behind it, or the end.
    struct arrival {
        int peer = 0;
        wire::rendezvous_message said{};
        bytes table{};                        // behind saying::table
        std::optional<std::string> why{};     // set if the rank is lost: the cause
        std::optional<fault> malformed_by{};  // set if its data caused that
    };

    explicit rendezvous_channel(const tcp_options& options);
    rendezvous_channel(const rendezvous_channel&) = delete;
    rendezvous_channel& operator=(const rendezvous_channel&) = delete;
    ~rendezvous_channel() { stop(); }

    /// Adds a connection on which both ends have greeted. `output`: bytes still to be written.
    void add(int peer, std::unique_ptr<tcp_socket> socket, byte_view output);

    /// Number of connected ranks.
    std::size_t size() const;

    /// Sends a message to all ranks, and the bytes behind it.
    void say(const wire::rendezvous_message& what, byte_view behind = {});

    /// Next event.
    std::optional<arrival> next();

    /// First rank that is lost because it gives no sign of life, and the cause. A rank that is
    /// ready gives none.
    std::optional<std::pair<int, std::string>> first_silent();

    /// Lets all ranks begin. Calls take(peer, socket) for each rank to which this is written: its
    /// connection carries frames from then on. Returns true if all ranks are taken.
    template <class Take>
    bool release(Take&& take) {
        const std::lock_guard lock(mutex_);
        if (std::exchange(shows_life_, false))
            for (auto& [peer, l] : lines_) {
                say(l, {.what = wire::saying::go});
                l.has_gone = true;
            }
        for (auto next = lines_.begin(); next != lines_.end();) {
            auto& [peer, l] = *next;
            flush(l);
            const bool leaves = l.has_ended || l.out.empty();
            if (leaves) take(peer, std::move(l.socket));
            next = leaves ? lines_.erase(next) : std::next(next);
        }
        return lines_.empty();
    }

    /// Connection to a rank that let this one begin.
    std::unique_ptr<tcp_socket> take(int peer);

    /// Removes all connections, to end them.
    std::vector<std::unique_ptr<tcp_socket>> take_all();

    /// Adds descriptors to wait for, and returns the maximum time to wait. The thread may have read
    /// the data first, and in a large job only the thread receives signs of life.
    duration add_waits(std::vector<pollfd>& waits) const;

    /// Sends this rank's sign of life when due, and receives data.
    void tick();

private:
    struct line {
        std::unique_ptr<tcp_socket> socket{};
        bytes in{}, out{};
        liveness life{duration::zero()};
        std::optional<wire::rendezvous_message> table_due{};  // message whose table is to arrive
        bool is_ready = false;                                // it reported this
        bool has_gone = false;  // "go" was sent or received: later bytes are the job's
        bool has_ended = false;
    };

    static time_point now() noexcept { return std::chrono::steady_clock::now(); }

    void start();

    /// Stops the thread. A child of fork() has no such thread, which may have held the mutex.
    void stop() noexcept;

    void run() noexcept;

    // All of these require the mutex.

    void show_life();

    void say(line& to, wire::rendezvous_message what) const;

    void flush(line& to);

    void receive();

    /// Reads up to the end of the next message, and no byte beyond. Returns true if the message is
    /// complete and more may arrive.
    bool read(int peer, line& from);

    /// Processes a complete message. Returns true if more may arrive.
    bool take(int peer, line& from, bytes whole);

    void end(line& of, arrival last);

    std::uint32_t own_;
    std::size_t table_bytes_;
    bool is_crowded_;
    liveness_options options_;
    mutable std::mutex mutex_;
    owned_by_process<std::condition_variable> stopped_;
    std::map<int, line> lines_;  // by rank
    std::deque<arrival> arrivals_;
    waiting_time clock_;  // excludes halts of this process
    time_point shown_{};
    bool shows_life_ = true;
    bool stopping_ = false;
    bool has_no_thread_ = false;
    owned_by_process<std::thread> thread_;  // last: it uses all of the above
};

}  // namespace sotto::detail::net

#ifndef SOTTO_SEPARATE_COMPILATION
#include "sotto/transports/detail/tcp/rendezvous_channel.ipp"
#endif
