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

/// A thread sleeps on it by poll(2), and another one wakes it.
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

/// How a rank's data were altered, on the way between it and rank `own`.
std::string altered(const std::string& why, int own);

/// A thread that does nothing but say that this rank lives, hear who else does, and pass on votes:
/// however long the rank computes, and however full the other connections are.
class tcp_control {
public:
    /// While ranks may come and go: one of them went, or is there and brings its connection for
    /// messages.
    struct change {
        membership::failure what;  // not of one that is there
        std::uint64_t incarnation = 0;
        std::unique_ptr<tcp_socket> data{};
        bool is_here() const noexcept { return data != nullptr; }
    };

    /// `to_user` is rung when there is something new for a rank that waits. `gathering`: by which
    /// ranks come while others work; none where they do not.
    tcp_control(membership state, std::vector<std::unique_ptr<tcp_socket>> sockets,
                wake_up& to_user, std::unique_ptr<tcp_rendezvous> gathering = nullptr);
    ~tcp_control() { stop(); }

    bool failed() const noexcept { return failed_.load(std::memory_order_acquire); }
    /// Grows with everything new.
    std::uint64_t news() const noexcept { return news_.load(std::memory_order_acquire); }

    /// Whom this rank waits for; see membership::wait_for.
    void wait_for(int rank) noexcept { waits_for_.store(rank, std::memory_order_relaxed); }

    /// The descriptor of a rank's connection for messages, whose bytes are signs of life as well;
    /// none before it is closed.
    void carries_messages(int rank, std::optional<int> handle) noexcept;

    /// Hears what has come, without waiting until the thread wakes up for it.
    void listen();

    /// In a crowd: adds the connection of the first member whose vote is missing. A rank that waits
    /// for votes needs all of them, so it reads the others once this one has come. If each vote
    /// woke it, most of the crowd would. Without a crowd the thread wakes it.
    void add_waits_for(const membership::ballot& among, std::vector<pollfd>& waits);

    /// Says what the thread has noted, which itself never waits for an output.
    void say_noted();

    /// Calls with the membership while nobody else has it, and sends what it then has to say.
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

    /// From now on this rank shows that it lives. Until then the membership is used by one thread.
    ///   errors  io_failure: there is no thread for it, which the others are told
    void start();

    /// The next change, in order.
    std::optional<change> next_change();

    /// From now on nobody comes to this rank, and it looks for nobody: it takes no part any more.
    void gather_no_more() noexcept;

    /// Says good-bye and ends the thread; what was said still arrives. A child of fork() has no
    /// such thread: there nothing is sent, and nothing waited for.
    void stop() noexcept;

private:
    // For what was said to be heard by a peer that lives; one that does not is not waited for.
    static constexpr duration last_words = std::chrono::milliseconds(500);
    // Times dead_after: a system waits twice as long before each attempt to send again, so that a
    // link that was down for a moment may be found only then.
    static constexpr int stalled_after = 3;

    void serve() noexcept;

    void serve_until_stopped();

    /// Whoever has come is a rank of the job from now on.
    void gather();

    void hear_of_gone();

    void say_good_bye();

    void read_all();

    /// Of those only that the last wait has found: among many ranks something comes all the time.
    void read_ready();

    /// Other signs of life of ranks whose frames are overdue: they may wait in a queue behind
    /// messages, or for a lost packet to be sent again.
    void look_at_silent(time_point now);

    /// Messages of this rank that do not arrive at one that gives signs of life: each connection
    /// may be cut alone, as by packets that are too large for a link on the way.
    void look_for_stalls(time_point now);

    /// Notes once, and again where it grows, that more silence than dead_after is accepted.
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
    std::vector<send_progress> sent_;       // by these
    duration noted_limit_{};
    std::string noted_;
    std::deque<change> changes_;
    std::vector<pollfd> waits_;
    std::vector<std::size_t> waiting_ranks_;  // whose they are, but for the first
    bool has_more_ = false;                   // some socket may have more than was read
    bool gathers_more_ = false;               // there is more to do for ranks that come
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
