#pragma once

#include "sotto/transports/detail/tcp/tcp_socket.hpp"

#include <poll.h>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "sotto/core/bytes.hpp"
#include "sotto/core/clock.hpp"
#include "sotto/core/deadline.hpp"
#include "sotto/core/errors.hpp"
#include "sotto/core/detail/processes/owner_process.hpp"
#include "sotto/core/result.hpp"
#include "sotto/core/detail/processes/thread.hpp"
#include "sotto/transports/detail/messaging/liveness.hpp"
#include "sotto/transports/tcp_options.hpp"
#include "sotto/wire/detail/protocols/rank_table.hpp"
#include "sotto/wire/detail/protocols/word.hpp"

namespace sotto::detail::net {

/// The connections between rank 0 and the other ranks from the greeting until the job begins. Both
/// sides say four times a second that they live, and send each other words.
///
/// A thread of its own sends and receives signs of life: the thread that meets the other ranks may
/// be busy with their handshakes for longer than a rank may be silent. Where the system has no
/// thread left, the calls do what they can.
class tcp_rendezvous {
public:
    /// What came from a rank: a word, a word with the table behind it, or the end.
    struct arrival {
        int peer = 0;
        wire::word said{};
        bytes table{};                        // behind saying::table
        std::optional<std::string> why{};     // no word came: why the rank is lost
        std::optional<fault> malformed_by{};  // because of what it sent
    };

    explicit tcp_rendezvous(const tcp_options& options)
        : own_(static_cast<std::uint32_t>(options.rank)),
          table_bytes_(wire::rank_table_bytes(static_cast<std::size_t>(options.size))),
          is_crowded_(static_cast<std::size_t>(options.size) > tcp_socket::crowd),
          // A rank may be busy with others before it has read that it is welcome.
          options_{options.heartbeat, options.dead_after,
                   (std::max)(options.join, options.dead_after), "tcp"},
          clock_(now(), (options.dead_after / 2 + options.heartbeat) / 4) {}
    tcp_rendezvous(const tcp_rendezvous&) = delete;
    tcp_rendezvous& operator=(const tcp_rendezvous&) = delete;
    ~tcp_rendezvous() { stop(); }

    /// Both ends have greeted each other. `output`: what is still to be written.
    void add(int peer, std::unique_ptr<tcp_socket> socket, byte_view output) {
        {
            const std::lock_guard lock(mutex_);
            socket->resend_steadily();
            line& made = lines_[peer];
            made.socket = std::move(socket);
            made.out.assign(output.begin(), output.end());
            made.life = liveness(clock_.at(now()));
            say(made, {.what = wire::saying::alive});
            flush(made);
        }
        start();
    }

    /// Ranks that are met.
    std::size_t size() const {
        const std::lock_guard lock(mutex_);
        return lines_.size();
    }

    /// Says a word to all, and what follows it.
    void say(const wire::word& what, byte_view behind = {}) {
        const std::lock_guard lock(mutex_);
        // Behind these words the receiver expects frames of the job.
        if (what.what == wire::saying::ready) shows_life_ = false;
        for (auto& [peer, l] : lines_) {
            say(l, what);
            l.out.insert(l.out.end(), behind.begin(), behind.end());
            flush(l);
        }
    }

    /// The next thing that came.
    std::optional<arrival> next() {
        const std::lock_guard lock(mutex_);
        if (arrivals_.empty()) receive();
        if (arrivals_.empty()) return std::nullopt;
        arrival first = std::move(arrivals_.front());
        arrivals_.pop_front();
        return first;
    }

    /// A rank that is lost because it gives no sign of life, and why. One that is ready gives none.
    std::optional<std::pair<int, std::string>> first_silent() {
        const std::lock_guard lock(mutex_);
        receive();
        const duration present = clock_.at(now());
        for (auto& [peer, l] : lines_) {
            if (l.has_ended || l.is_ready) continue;
            if (l.life.is_overdue(present, options_))
                l.life.observe(path_of(l.socket->handle()), present);
            if (l.life.is_lost(present, options_)) return std::pair(peer, l.life.cause(options_));
        }
        return std::nullopt;
    }

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
    std::unique_ptr<tcp_socket> take(int peer) {
        const std::lock_guard lock(mutex_);
        return std::move(lines_.extract(peer).mapped().socket);
    }

    /// All connections, to end them.
    std::vector<std::unique_ptr<tcp_socket>> take_all() {
        const std::lock_guard lock(mutex_);
        std::vector<std::unique_ptr<tcp_socket>> all;
        for (auto& [peer, l] : std::exchange(lines_, {})) all.push_back(std::move(l.socket));
        return all;
    }

    /// Adds what is to be waited for; returns how long at most. The thread may have been there
    /// first, and in a crowd it is that alone which receives signs of life.
    duration add_waits(std::vector<pollfd>& waits) const {
        const std::lock_guard lock(mutex_);
        if (!arrivals_.empty()) return duration::zero();
        for (const auto& [peer, l] : lines_) {
            const bool writes = !l.out.empty(), is_calm = is_crowded_ || l.has_gone;
            if (l.has_ended || (l.has_gone && !writes)) continue;
            waits.push_back({l.socket->handle(),
                             is_calm ? l.socket->calm_interest(writes) : l.socket->interest(writes),
                             0});
        }
        return is_crowded_ ? options_.heartbeat / 4 : options_.heartbeat;
    }

    /// Shows that this rank lives, where that is due, and receives what came.
    void tick() {
        const std::lock_guard lock(mutex_);
        show_life();
    }

private:
    struct line {
        std::unique_ptr<tcp_socket> socket{};
        bytes in{}, out{};
        liveness life{duration::zero()};
        std::optional<wire::word> table_due{};  // whose table is to come
        bool is_ready = false;                  // it said so
        bool has_gone = false;                  // "go" was said: what follows is the job's
        bool has_ended = false;
    };

    static time_point now() noexcept { return std::chrono::steady_clock::now(); }

    void start() {
        const bool runs = thread_.is_of_this_process() && thread_->joinable();
        if (runs || has_no_thread_) return;
        try {
            thread_ = start_thread("tcp: the thread for signs of life", [this] { run(); });
        } catch (const error&) {  // the job needs one later, and says so
            has_no_thread_ = true;
        }
    }

    /// A child of fork() has no such thread, which may have held the mutex.
    void stop() noexcept {
        if (!thread_.is_of_this_process()) return;
        {
            const std::lock_guard lock(mutex_);
            stopping_ = true;
        }
        stopped_->notify_all();
        if (thread_->joinable()) thread_->join();
    }

    void run() noexcept {
        std::unique_lock lock(mutex_);
        while (!stopping_) {
            try {
                show_life();
            } catch (...) {  // no memory: others see the silence
            }
            stopped_->wait_until(lock, shown_ + options_.heartbeat);
        }
    }

    // All of these require the mutex.

    void show_life() {
        const time_point present = now();
        const bool is_due = present - shown_ >= options_.heartbeat;
        if (is_due) shown_ = present;
        (void)clock_.at(present);
        receive();
        if (!is_due) return;
        for (auto& [peer, l] : lines_) {
            if (shows_life_) say(l, {.what = wire::saying::alive});
            flush(l);
        }
    }

    void say(line& to, wire::word what) const {
        what.rank = own_;
        const auto written = wire::written_word(what);
        to.out.insert(to.out.end(), written.begin(), written.end());
    }

    void flush(line& to) {
        while (!to.has_ended && !to.out.empty()) {
            const byte_view all = to.out;
            const moved sent = to.socket->write(std::span(&all, 1));
            if (sent.bytes == 0) return;  // that it is closed is read, behind what came before
            to.out.erase(to.out.begin(), to.out.begin() + static_cast<std::ptrdiff_t>(sent.bytes));
        }
    }

    void receive() {
        for (auto& [peer, l] : lines_) {
            while (!l.has_ended && !l.has_gone && read(peer, l)) {}
            flush(l);
        }
    }

    /// Reads up to the end of what is due next, and no byte of what follows; whether that came.
    bool read(int peer, line& from) {
        const std::size_t due = from.table_due ? table_bytes_ : wire::word_bytes;
        const std::size_t had = from.in.size();
        from.in.resize(due);
        const mutable_byte_view rest = mutable_byte_view(from.in).subspan(had);
        const moved got = from.socket->read(std::span(&rest, 1));
        from.in.resize(had + got.bytes);
        if (got.bytes > 0) from.life.heard(clock_.at(now()));
        if (from.in.size() == due) return take(peer, from, std::exchange(from.in, {}));
        if (got.closed) end(from, {.peer = peer, .why = got.why});
        return false;
    }

    /// What came is whole. Returns whether more may come.
    bool take(int peer, line& from, bytes whole) {
        if (from.table_due) {
            const wire::word said = *std::exchange(from.table_due, std::nullopt);
            arrivals_.push_back({.peer = peer, .said = said, .table = std::move(whole)});
            return true;
        }
        const result<wire::word> said = wire::read_word(whole.data());
        if (!said) {
            end(from, {.peer = peer,
                       .why = "it sent what is no word: " + said.why().text(),
                       .malformed_by = said.why()});
            return false;
        }
        if (said->what == wire::saying::table && own_ != 0) {
            from.table_due = *said;
            return true;
        }
        if (said->what == wire::saying::ready) from.is_ready = true;
        if (said->what == wire::saying::go && own_ != 0) from.has_gone = true;
        if (said->what != wire::saying::alive) arrivals_.push_back({.peer = peer, .said = *said});
        return !from.has_gone;
    }

    void end(line& of, arrival last) {
        of.has_ended = true;
        arrivals_.push_back(std::move(last));
    }

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
