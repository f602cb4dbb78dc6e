#pragma once

#include "sotto/transports/detail/tcp/tcp_control.hpp"

#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <span>
#include <utility>

#include "sotto/core/config.hpp"
#include "sotto/core/deadline.hpp"
#include "sotto/core/detail/processes/thread.hpp"
#include "sotto/core/errors.hpp"
#include "sotto/transports/detail/tcp/tcp_connections.hpp"
#include "sotto/transports/diagnostics.hpp"
#include "sotto/wire/detail/protocols/membership_report.hpp"

namespace sotto::detail::net {

SOTTO_DECL wake_up::wake_up()
    : event_(above_standard(descriptor(::eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC)))) {
    if (!event_)
        throw io_failure("tcp: the system gives no eventfd, by which threads wake each other: " +
                         system_reason().message() + "; the limit of descriptors (ulimit -n) is " +
                         std::to_string(descriptor_limit()));
}

SOTTO_DECL void wake_up::ring() noexcept {
    const std::uint64_t one = 1;
    [[maybe_unused]] const auto written = ::write(handle(), &one, sizeof one);
}

SOTTO_DECL void wake_up::silence() noexcept {
    std::uint64_t count;
    [[maybe_unused]] const auto read = ::read(handle(), &count, sizeof count);
}

SOTTO_DECL std::string altered(const std::string& why, int own) {
    return why + "; the network is between it and rank " + std::to_string(own);
}

SOTTO_DECL tcp_control::tcp_control(membership state,
                                    std::vector<std::unique_ptr<tcp_socket>> sockets,
                                    wake_up& to_user, std::unique_ptr<tcp_rendezvous> gathering)
    : state_(std::move(state)),
      sockets_(std::move(sockets)),
      to_user_(&to_user),
      gathering_(std::move(gathering)),
      data_(sockets_.size()),
      sent_(sockets_.size()) {
    for (const auto& socket : sockets_)
        if (socket) socket->resend_steadily();
}

SOTTO_DECL void tcp_control::carries_messages(int rank, std::optional<int> handle) noexcept {
    const std::lock_guard lock(mutex_);
    data_[static_cast<std::size_t>(rank)] = handle;
    sent_[static_cast<std::size_t>(rank)] = {};
}

SOTTO_DECL void tcp_control::listen() {
    const std::lock_guard lock(mutex_);
    read_all();
    after_change();
}

SOTTO_DECL void tcp_control::add_waits_for(const membership::ballot& among,
                                           std::vector<pollfd>& waits) {
    if (!is_crowded()) return;
    const std::lock_guard lock(mutex_);
    for (const int member : among.members)
        if (const auto& socket = sockets_[static_cast<std::size_t>(member)];
            socket && among.misses(member)) {
            waits.push_back({socket->handle(), POLLIN, 0});
            return;
        }
}

SOTTO_DECL void tcp_control::say_noted() {
    if (!has_noted_.exchange(false)) return;
    std::string text;
    {
        const std::lock_guard lock(mutex_);
        text = noted_;
    }
    diagnostics(state_.rank(), false).say(text);
}

SOTTO_DECL void tcp_control::start() {
    const std::string which =
        "tcp: the thread for signs of life of rank " + std::to_string(state_.rank());
    try {
        thread_ = start_thread(which, [this] { serve(); });
    } catch (const error& e) {
        with([&](membership& m) { m.fail(m.rank(), e.what(), errc::io); });
        close_when_heard(sockets_, last_words);
        throw;
    }
}

SOTTO_DECL std::optional<tcp_control::change> tcp_control::next_change() {
    const std::lock_guard lock(mutex_);
    hear_of_gone();
    if (changes_.empty()) return std::nullopt;
    change first = std::move(changes_.front());
    changes_.pop_front();
    return first;
}

SOTTO_DECL void tcp_control::gather_no_more() noexcept {
    gathers_.store(false);
    own_.ring();
}

SOTTO_DECL void tcp_control::stop() noexcept {
    if (!thread_.is_of_this_process() || !thread_->joinable()) return;
    stopping_.store(true);
    own_.ring();
    thread_->join();
    close_when_heard(sockets_, last_words);
}

SOTTO_DECL void tcp_control::serve() noexcept {
    try {
        waits_.reserve(sockets_.size() + 1);
        waiting_ranks_.reserve(sockets_.size() + 1);
        serve_until_stopped();
        say_good_bye();
    } catch (...) {
        // Without memory this rank cannot take part. The end of its connections notifies the
        // others.
        const std::lock_guard lock(mutex_);
        for (auto& socket : sockets_) socket.reset();
        failed_.store(true, std::memory_order_release);
        news_.fetch_add(1, std::memory_order_release);
        to_user_->ring();
    }
}

SOTTO_DECL void tcp_control::serve_until_stopped() {
    {
        const std::lock_guard lock(mutex_);
        has_more_ = true;  // data that arrived with the handshake
    }
    while (!stopping_.load()) {
        time_point until;
        {
            const std::lock_guard lock(mutex_);
            std::exchange(has_more_, false) || is_crowded() ? read_all() : read_ready();
            state_.wait_for(waits_for_.load(std::memory_order_relaxed));
            const time_point now = std::chrono::steady_clock::now();
            if (now >= state_.next_tick()) {
                look_at_silent(now);
                look_for_stalls(now);
            }
            state_.tick(now);
            // A rank that joined at a failed rank would take it for its next process.
            if (!gathers_.load() || state_.first_failure()) gathering_.reset();
            if (gathering_) gather();
            after_change();
            waits_.assign(1, {own_.handle(), POLLIN, 0});
            waiting_ranks_.clear();
            for (std::size_t rank = 0; rank < sockets_.size(); ++rank)
                if (sockets_[rank]) {
                    tcp_socket& socket = *sockets_[rank];
                    const bool writes = has_output(rank);
                    waits_.push_back(
                        {socket.handle(),
                         is_crowded() ? socket.calm_interest(writes) : socket.interest(writes), 0});
                    waiting_ranks_.push_back(rank);
                }
            until = has_more_ ? now : state_.next_tick();
            if (is_crowded()) until = (std::min)(until, now + state_.options().heartbeat / 4);
            if (gathering_) until = (std::min)(until, gathering_->add_waits(waits_));
            if (gathering_ && gathers_more_) until = now;
        }
        wait_for_any(waits_, until - std::chrono::steady_clock::now());
        if ((waits_[0].revents & POLLIN) != 0) own_.silence();
    }
}

SOTTO_DECL void tcp_control::gather() {
    hear_of_gone();
    // Handshakes with many ranks, or with strangers, must not delay signs of life.
    gathers_more_ =
        !gathering_->advance(std::chrono::steady_clock::now() + state_.options().heartbeat / 4);
    while (auto come = gathering_->next_arrival()) {
        const int own = state_.rank();
        const std::uint64_t incarnation = gathering_->incarnation();
        state_.readmit(come->rank,
                       {0, link_seed(own, incarnation, come->rank, come->incarnation, control_seed),
                        link_seed(come->rank, come->incarnation, own, incarnation, control_seed),
                        wire::report_bytes_max(sockets_.size())},
                       std::chrono::steady_clock::now());
        come->control->resend_steadily();
        sockets_[static_cast<std::size_t>(come->rank)] = std::move(come->control);
        changes_.push_back({{come->rank, {}, {}}, come->incarnation, std::move(come->data)});
    }
}

SOTTO_DECL void tcp_control::hear_of_gone() {
    while (auto went = state_.next_gone()) {
        const bool left = went->code == errc{};
        // A closed connection notifies a dropped rank that is still alive.
        sockets_[static_cast<std::size_t>(went->rank)].reset();
        if (gathering_) gathering_->gone(went->rank, left);
        changes_.push_back({std::move(*went)});
    }
}

SOTTO_DECL void tcp_control::say_good_bye() {
    deadline limit(std::chrono::steady_clock::now(), last_words);
    const std::lock_guard lock(mutex_);
    state_.leave();
    while (true) {
        flush();
        bool all = true;
        for (std::size_t rank = 0; rank < sockets_.size(); ++rank)
            if (sockets_[rank] && has_output(rank)) all = false;
        if (all || limit.passed(std::chrono::steady_clock::now())) return;
        read_all();  // a rank that has ended its side needs nothing more
        wait_for_any({}, std::chrono::milliseconds(1));
    }
}

SOTTO_DECL void tcp_control::read_all() {
    const time_point now = std::chrono::steady_clock::now();
    for (std::size_t rank = 0; rank < sockets_.size(); ++rank) read(rank, now);
    state_.count_votes();
}

SOTTO_DECL void tcp_control::read_ready() {
    const time_point now = std::chrono::steady_clock::now();
    for (std::size_t i = 0; i < waiting_ranks_.size(); ++i)
        if ((waits_[i + 1].revents & ~POLLOUT) != 0) read(waiting_ranks_[i], now);
    state_.count_votes();
}

SOTTO_DECL void tcp_control::look_at_silent(time_point now) {
    for (std::size_t rank = 0; rank < sockets_.size(); ++rank) {
        const int peer = static_cast<int>(rank);
        if (!sockets_[rank] || !state_.is_overdue(peer, now)) continue;
        state_.observe(peer, path_of(sockets_[rank]->handle(), data_[rank]), now);
        note_delay(peer);
    }
}

SOTTO_DECL void tcp_control::look_for_stalls(time_point now) {
    const duration limit = stalled_after * state_.options().silence();
    if (limit <= duration::zero()) return;
    const duration present = state_.counted(now);
    for (std::size_t rank = 0; rank < data_.size(); ++rank) {
        const int peer = static_cast<int>(rank);
        if (!data_[rank] || state_.of(peer) != membership::standing::alive) continue;
        const whole_tcp_info data = tcp_info_of(*data_[rank]);
        const auto stalled =
            sent_[rank].stalls({data.bytes_acked, data.unacked, data.retransmits}, present, limit);
        if (!stalled || state_.is_overdue(peer, now)) continue;
        std::string text =
            "it gives signs of life, but acknowledged nothing on the connection for messages "
            "from rank " +
            std::to_string(state_.rank()) + " for ";
        append_seconds(text, *stalled);
        text += ", though these were sent " + std::to_string(data.retransmits + 1u) +
                " times, in packets of up to " + std::to_string(data.snd_mss) +
                " bytes: a link between the two may drop large packets (MTU), or a firewall "
                "this connection";
        state_.fail(peer, std::move(text));
    }
}

SOTTO_DECL void tcp_control::note_delay(int peer) {
    const liveness& life = state_.life_of(peer);
    if (life.settles(state_.options())) return;
    const duration delay = life.delay(), limit = life.limit(state_.options());
    if (delay == duration::zero() || limit < noted_limit_ + noted_limit_ / 4) return;
    noted_limit_ = limit;
    std::string text = "accepts ";
    append_seconds(text, limit);
    text += " without a sign of life of rank " + std::to_string(peer) +
            ", more than tcp_options::dead_after: the measured delay is ";
    append_seconds(text, delay);
    noted_ = std::move(text);
    has_noted_.store(true);
}

SOTTO_DECL bool tcp_control::has_output(std::size_t rank) noexcept {
    return !state_.stream(static_cast<int>(rank)).output().empty();
}

SOTTO_DECL void tcp_control::read(std::size_t rank, time_point now) {
    if (!sockets_[rank]) return;
    const int peer = static_cast<int>(rank);
    for (int turns = 0; turns < 16; ++turns) {
        const mutable_byte_view room = room_;
        const moved got = sockets_[rank]->read(std::span(&room, 1));
        if (got.bytes > 0) {
            state_.received(peer, mutable_byte_view(room_).first(got.bytes), now);
        } else {
            if (got.closed) {
                state_.closed(peer, got.altered ? altered(got.why, state_.rank()) : got.why);
                sockets_[rank].reset();
            }
            return;
        }
    }
    has_more_ = true;  // a secure session may hold data that poll(2) does not see
}

SOTTO_DECL void tcp_control::flush() noexcept {
    for (std::size_t rank = 0; rank < sockets_.size(); ++rank) {
        if (!sockets_[rank]) continue;
        control_stream& stream = state_.stream(static_cast<int>(rank));
        while (!stream.output().empty()) {
            const byte_view all = stream.output();
            const moved sent = sockets_[rank]->write(std::span(&all, 1));
            if (sent.bytes == 0) break;  // reading detects that it is closed, with earlier data
            stream.written(sent.bytes);
        }
    }
}

SOTTO_DECL void tcp_control::after_change() {
    flush();
    const std::uint64_t version = state_.version();
    if (version == seen_) return;
    seen_ = version;
    if (state_.first_failure()) failed_.store(true, std::memory_order_release);
    news_.fetch_add(1, std::memory_order_release);
    to_user_->ring();
}

}  // namespace sotto::detail::net
