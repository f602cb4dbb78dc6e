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

/// The connections between rank 0 and the other ranks from the greeting until the job begins. Both
/// sides say four times a second that they live, and send each other words.
///
/// A thread of its own sends and receives signs of life: the thread that meets the other ranks may
/// be busy with their handshakes for longer than a rank may be silent. Where the system has no
/// thread left, the calls do what they can.
class rendezvous_channel {
public:
    /// What came from a rank: a word, a word with the table behind it, or the end.
    struct arrival {
        int peer = 0;
        wire::rendezvous_message said{};
        bytes table{};                        // behind saying::table
        std::optional<std::string> why{};     // no word came: why the rank is lost
        std::optional<fault> malformed_by{};  // because of what it sent
    };

    explicit rendezvous_channel(const tcp_options& options);
    rendezvous_channel(const rendezvous_channel&) = delete;
    rendezvous_channel& operator=(const rendezvous_channel&) = delete;
    ~rendezvous_channel() { stop(); }

    /// Both ends have greeted each other. `output`: what is still to be written.
    void add(int peer, std::unique_ptr<tcp_socket> socket, byte_view output);

    /// Ranks that are met.
    std::size_t size() const;

    /// Says a word to all, and what follows it.
    void say(const wire::rendezvous_message& what, byte_view behind = {});

    /// The next thing that came.
    std::optional<arrival> next();

    /// A rank that is lost because it gives no sign of life, and why. One that is ready gives none.
    std::optional<std::pair<int, std::string>> first_silent();

    /// Lets all ranks begin; those to which that is written leave with their connection, which
    /// carries frames from then on. Returns whether all have left.
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

    /// The connection to a rank that let this one begin.
    std::unique_ptr<tcp_socket> take(int peer);

    /// All connections, to end them.
    std::vector<std::unique_ptr<tcp_socket>> take_all();

    /// Adds what is to be waited for; returns how long at most. The thread may have been there
    /// first, and in a crowd it is that alone which receives signs of life.
    duration add_waits(std::vector<pollfd>& waits) const;

    /// Shows that this rank lives, where that is due, and receives what came.
    void tick();

private:
    struct line {
        std::unique_ptr<tcp_socket> socket{};
        bytes in{}, out{};
        liveness life{duration::zero()};
        std::optional<wire::rendezvous_message> table_due{};  // whose table is to come
        bool is_ready = false;                                // it said so
        bool has_gone = false;  // "go" was said: what follows is the job's
        bool has_ended = false;
    };

    static time_point now() noexcept { return std::chrono::steady_clock::now(); }

    void start();

    /// A child of fork() has no such thread, which may have held the mutex.
    void stop() noexcept;

    void run() noexcept;

    // All of these require the mutex.

    void show_life();

    void say(line& to, wire::rendezvous_message what) const;

    void flush(line& to);

    void receive();

    /// Reads up to the end of what is due next, and no byte of what follows; whether that came.
    bool read(int peer, line& from);

    /// What came is whole. Returns whether more may come.
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
    waiting_time clock_;  // a halt of this process is no time
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
