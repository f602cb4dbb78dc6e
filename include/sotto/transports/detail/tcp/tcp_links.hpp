#pragma once

#include "sotto/transports/detail/tcp/tcp_socket.hpp"

#include <poll.h>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "sotto/core/clock.hpp"
#include "sotto/core/deadline.hpp"
#include "sotto/core/errors.hpp"
#include "sotto/core/result.hpp"
#include "sotto/transports/detail/messaging/membership.hpp"
#include "sotto/transports/detail/messaging/message_exchange.hpp"
#include "sotto/transports/detail/messaging/message_link.hpp"
#include "sotto/transports/detail/tcp/tcp_control.hpp"

namespace sotto::detail::net {

/// A rank's connections for messages: moves bytes between them and a message_exchange, when it is
/// called.
class tcp_links {
public:
    tcp_links(message_exchange& exchange, tcp_control& control,
              std::vector<std::unique_ptr<tcp_socket>> sockets)
        : exchange_(&exchange), control_(&control), sockets_(std::move(sockets)) {
        for (int peer = 0; peer < size(); ++peer)
            if (at(peer)) use(peer);
    }

    bool is_open(int peer) const noexcept { return at(peer) != nullptr; }
    bool any_open() const noexcept {
        return std::any_of(sockets_.begin(), sockets_.end(), [](const auto& s) { return bool(s); });
    }

    /// Whether there is a connection to every other rank.
    bool all_open() const noexcept {
        const auto open =
            std::count_if(sockets_.begin(), sockets_.end(), [](const auto& s) { return bool(s); });
        return open + 1 == std::ssize(sockets_);
    }

    /// Another process is this rank now.
    void open(int peer, std::unique_ptr<tcp_socket> socket) {
        at(peer) = std::move(socket);
        lost_.erase(peer);
        use(peer);
    }
    void forget(int peer) noexcept {
        if (!at(peer)) return;
        control_->carries_messages(peer, std::nullopt);
        at(peer)->close();
        at(peer).reset();
    }
    void close() noexcept {
        take_from_control();
        for (auto& s : sockets_)
            if (s) s->close();
    }
    /// What was sent arrives, as long as its receivers live.
    template <class Lives>
    void close_when_heard(duration most, Lives&& lives) {
        take_from_control();
        net::close_when_heard(sockets_, most, lives);
    }

    // Moving bytes

    /// Every transfer is a chance to move bytes, but asking the system each time would cost more
    /// than it moves.
    void move_now_and_then() {
        const time_point present = now();
        if (present - moved_at_ < std::chrono::microseconds(2)) return;
        // Who only ever polls must not wait for one that takes no more because this rank takes
        // nothing from it.
        move(0, full_ && present - full_at_ > full_max);
        moved_at_ = present;
    }

    /// Asks the system for what is waited for, and gives it what it had no room for. `keeps`: also
    /// messages of so many bytes that no receive waits for; `from_all`: also of ranks from which
    /// nothing is waited for, and all of it.
    void move(std::int64_t keeps, bool from_all = false) {
        bool full = false;
        halted_ = false;
        for (int peer = 0; peer < size(); ++peer) {
            if (!at(peer)) continue;
            if (from_all || exchange_->expects(peer)) read(peer, from_all ? keeps_all : keeps);
            halted_ = halted_ || (at(peer) && exchange_->link_to(peer)->halted());
            write(peer);
            full = full || (at(peer) && exchange_->link_to(peer)->has_output());
        }
        if ((full && !full_) || from_all) full_at_ = now();
        full_ = full;
    }

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

    void write(int peer) {
        message_link& link = *exchange_->link_to(peer);
        while (at(peer) && link.has_output()) {
            const moved sent = at(peer)->write(link.output());
            if (sent.bytes == 0) return;  // that it is closed is read, after what came before
            link.written(sent.bytes);
        }
    }
    void write_to_all() {
        for (int peer = 0; peer < size(); ++peer)
            if (at(peer)) write(peer);
    }

    void read(int peer, std::int64_t keeps = keeps_all) {
        message_link& link = *exchange_->link_to(peer);
        if (link.halted() && !take(peer, link.received(0, keeps))) return;
        while (at(peer) && !link.halted()) {
            const auto room = link.input();
            const moved got = at(peer)->read(room);
            if (got.closed) return lose(peer, got);
            if (!take(peer, link.received(got.bytes, keeps))) return;
            if (got.bytes < room[0].size() + room[1].size()) return;
        }
    }
    /// All that came, until there is nothing more.
    void read_all() {
        for (int peer = 0; peer < size(); ++peer)
            if (at(peer)) read(peer);
    }

    /// Until something comes, something that was full is not, `woken` rings, or one of `others` is
    /// ready; or for so long.
    void sleep(duration most, wake_up& woken, std::span<const pollfd> others = {}) {
        waits_.assign(1, {woken.handle(), POLLIN, 0});
        waiting_ranks_.assign(1, exchange_->rank());
        for (int peer = 0; peer < size(); ++peer) {
            if (!at(peer)) continue;
            waits_.push_back({at(peer)->handle(),
                              at(peer)->interest(exchange_->link_to(peer)->has_output()), 0});
            waiting_ranks_.push_back(peer);
        }
        const bool lost = waits_.size() < static_cast<std::size_t>(size());
        const std::size_t own = waits_.size();
        waits_.insert(waits_.end(), others.begin(), others.end());
        wait_for_any(waits_, std::min<duration>(most, lost ? grace : std::chrono::seconds(1)));
        if ((waits_[0].revents & POLLIN) != 0) woken.silence();
        for (std::size_t i = 1; i < own; ++i) {
            const int peer = waiting_ranks_[i];  // `move` reads the others
            if ((waits_[i].revents & ~POLLOUT) != 0 && !exchange_->expects(peer)) read(peer);
        }
    }

    /// Of a rank whose connection here has ended, though it has not failed yet: what that means,
    /// once word of more would have come.
    std::optional<std::string> why_lost(int peer) {
        if (!cause_due_.passed(now())) return std::nullopt;
        const auto how = lost_.find(peer);
        return "its connection for messages with rank " + std::to_string(exchange_->rank()) +
               " ended" + (how == lost_.end() ? "" : how->second);
    }

private:
    static constexpr std::int64_t short_max = 16384;  // copied while nothing else is to do
    static constexpr duration full_max = std::chrono::milliseconds(10);
    // For word of a rank whose connection for messages ended.
    static constexpr duration grace = std::chrono::milliseconds(500);

    static time_point now() noexcept { return std::chrono::steady_clock::now(); }
    int size() const noexcept { return static_cast<int>(sockets_.size()); }
    std::unique_ptr<tcp_socket>& at(int peer) noexcept {
        return sockets_[static_cast<std::size_t>(peer)];
    }
    const std::unique_ptr<tcp_socket>& at(int peer) const noexcept {
        return sockets_[static_cast<std::size_t>(peer)];
    }

    void use(int peer) {
        at(peer)->hurry_within_machine();
        control_->carries_messages(peer, at(peer)->handle());
    }
    /// Before they are closed, whose descriptors may then be others'.
    void take_from_control() noexcept {
        for (int peer = 0; peer < size(); ++peer) control_->carries_messages(peer, std::nullopt);
    }

    /// Whether what a rank sent could be used.
    bool take(int peer, const std::optional<fault>& why) {
        if (!why) return true;
        control_->with([&](membership& m) {
            m.fail(peer, "it sent what is no frame: " + why->text(), errc::altered);
        });
        lose(peer, {});
        return false;
    }

    /// The connection is of no more use. Why, the control connection knows better, except that
    /// bytes were altered on this one.
    void lose(int peer, const moved& end) {
        const bool is_cut = !exchange_->link_to(peer)->between_frames();
        lost_[peer] =
            (is_cut ? " inside of a message" : "") + (end.why.empty() ? "" : ": " + end.why);
        forget(peer);
        cause_due_ = deadline(now(), grace);
        if (end.altered)
            control_->with([&](membership& m) {
                if (m.of(peer) == membership::standing::alive)
                    m.fail(peer, altered(end.why, exchange_->rank()), errc::altered);
            });
    }

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
