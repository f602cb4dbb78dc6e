#pragma once

#include <poll.h>

#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <type_traits>
#include <vector>

#include "sotto/core/clock.hpp"
#include "sotto/core/detail/files/descriptor.hpp"
#include "sotto/core/detail/processes/owner_process.hpp"
#include "sotto/transports/detail/messaging/membership.hpp"
#include "sotto/transports/detail/messaging/membership_words.hpp"
#include "sotto/transports/detail/messaging/send_progress.hpp"
#include "sotto/transports/detail/tcp/tcp_rendezvous.hpp"
#include "sotto/transports/detail/tcp/tcp_socket.hpp"

namespace sotto::detail::net {

/// An event by which one thread wakes another from poll(2).
class wake_up {
public:
    wake_up();
    wake_up(const wake_up&) = delete;
    wake_up& operator=(const wake_up&) = delete;

    int handle() const noexcept { return event_.handle(); }
    void ring() noexcept;
    void silence() noexcept;

private:
    descriptor event_;
};

/// Cause of failure: a rank's data were altered on the way to rank `own`.
std::string altered(const std::string& why, int own);

/// A thread that sends this rank's signs of life, receives those of others, and passes on votes. It
/// does only this, so it works while the rank computes and while the other connections are full.
class tcp_control {
public:
    /// Change while ranks may leave and return: a rank failed or left, or it joined and brings its
    /// connection for messages.
    struct change {
        membership::failure what;  // unset for a rank that joined
        std::uint64_t incarnation = 0;
        std::unique_ptr<tcp_socket> data{};
        bool is_here() const noexcept { return data != nullptr; }
    };

    /// `to_user` is rung when there is news for a rank that waits. `gathering` admits ranks while
    /// others work; null if no rank may join.
    tcp_control(membership state, std::vector<std::unique_ptr<tcp_socket>> sockets,
                wake_up& to_user, std::unique_ptr<tcp_rendezvous> gathering = nullptr);
    ~tcp_control() { stop(); }

    bool failed() const noexcept { return failed_.load(std::memory_order_acquire); }
    /// Grows with every change.
    std::uint64_t news() const noexcept { return news_.load(std::memory_order_acquire); }

    /// Sets the rank that this rank waits for; see membership::wait_for.
    void wait_for(int rank) noexcept { waits_for_.store(rank, std::memory_order_relaxed); }

    /// Sets the descriptor of a rank's connection for messages, whose bytes are signs of life as
    /// well. Set none before the connection is closed.
    void carries_messages(int rank, std::optional<int> handle) noexcept;

    /// Processes data that arrived, without waiting for the thread.
    void listen();

    /// In a large job: adds the connection of the first member whose vote is missing. A rank that
    /// waits for votes needs all of them, so it reads the others once this one has arrived. If each
    /// vote woke it, it would wake for most of them. In a small job the thread wakes it.
    void add_waits_for(const membership::ballot& among, std::vector<pollfd>& waits);

    /// Prints what the thread has noted. The thread itself never waits for an output.
    void say_noted();

    /// Calls visit(membership) with exclusive access, then sends the frames that it queued.
    template <class Visitor>
    auto with(Visitor&& visit) {
        const std::lock_guard lock(mutex_);
        if constexpr (std::is_void_v<decltype(visit(state_))>) {
            visit(state_);
            after_change();
        } else {
            auto answer = visit(state_);
            after_change();
            return answer;
        }
    }

    /// Starts the thread: from now on this rank gives signs of life. Until then one thread uses the
    /// membership.
    ///   errors  io_failure: no thread is left, which is reported to the others
    void start();

    /// Next change, in order.
    std::optional<change> next_change();

    /// From now on no rank can join at this one, and it looks for none: it takes no part any more.
    void gather_no_more() noexcept;

    /// Sends that this rank leaves, and ends the thread; frames sent before still arrive. A child
    /// of fork() has no such thread: it sends nothing and waits for nothing.
    void stop() noexcept;

private:
    // Time for a live peer to receive the last frames. A dead peer is not waited for.
    static constexpr duration last_words = std::chrono::milliseconds(500);
    // Multiple of dead_after. A system doubles the time before each attempt to send again, so it
    // may detect only then that a link works again.
    static constexpr int stalled_after = 3;

    void serve() noexcept;

    void serve_until_stopped();

    /// Makes ranks that have joined members of the job.
    void gather();

    void hear_of_gone();

    void say_good_bye();

    void read_all();

    /// Reads only connections that the last wait reported: in a large job data arrives all the
    /// time.
    void read_ready();

    /// Looks for other signs of life of ranks whose frames are overdue. Frames may wait in a queue
    /// behind messages, or for a lost packet to be sent again.
    void look_at_silent(time_point now);

    /// Looks for messages of this rank that do not arrive at a rank that gives signs of life. Each
    /// connection may be cut alone, for example if packets are too large for a link.
    void look_for_stalls(time_point now);

    /// Notes that more silence than dead_after is accepted: once, and again if it grows.
    void note_delay(int peer);

    bool is_crowded() const noexcept { return sockets_.size() > tcp_socket::crowd; }

    bool has_output(std::size_t rank) noexcept;

    void read(std::size_t rank, time_point now);

    void flush() noexcept;

    void after_change();

    std::mutex mutex_;
    membership state_;
    std::vector<std::unique_ptr<tcp_socket>> sockets_;
    wake_up own_;
    wake_up* to_user_;
    std::unique_ptr<tcp_rendezvous> gathering_;
    std::vector<std::optional<int>> data_;  // descriptors of the connections for messages, by rank
    std::vector<send_progress> sent_;       // progress on these, by rank
    duration noted_limit_{};
    std::string noted_;
    std::deque<change> changes_;
    std::vector<pollfd> waits_;
    std::vector<std::size_t> waiting_ranks_;  // their ranks, without the first
    bool has_more_ = false;                   // some socket may have more than was read
    bool gathers_more_ = false;               // there is more to do for ranks that join
    std::uint64_t seen_ = 0;
    std::array<std::byte, 16384> room_;
    std::atomic<int> waits_for_ = waits_for_no_rank;
    std::atomic<bool> stopping_ = false;
    std::atomic<bool> gathers_ = true;
    std::atomic<bool> has_noted_ = false;
    std::atomic<bool> failed_ = false;
    std::atomic<std::uint64_t> news_ = 0;
    owned_by_process<std::thread> thread_;  // last: it uses all of the above
};

}  // namespace sotto::detail::net

#ifndef SOTTO_SEPARATE_COMPILATION
#include "sotto/transports/detail/tcp/tcp_control.ipp"
#endif
