#pragma once

#include "sotto/transports/detail/tcp/rendezvous_channel.hpp"

#include <algorithm>
#include <span>

#include "sotto/core/config.hpp"
#include "sotto/core/detail/processes/thread.hpp"
#include "sotto/core/errors.hpp"
#include "sotto/wire/detail/protocols/rank_table.hpp"

namespace sotto::detail::net {

SOTTO_DECL rendezvous_channel::rendezvous_channel(const tcp_options& options)
    : own_(static_cast<std::uint32_t>(options.rank)),
      table_bytes_(wire::rank_table_bytes(static_cast<std::size_t>(options.size))),
      is_crowded_(static_cast<std::size_t>(options.size) > tcp_socket::crowd),
      // A rank may be busy with others before it reads that it is welcome.
      options_{options.heartbeat, options.dead_after, (std::max)(options.join, options.dead_after),
               "tcp"},
      clock_(now(), (options.dead_after / 2 + options.heartbeat) / 4) {}

SOTTO_DECL void rendezvous_channel::add(int peer, std::unique_ptr<tcp_socket> socket,
                                        byte_view output) {
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

SOTTO_DECL std::size_t rendezvous_channel::size() const {
    const std::lock_guard lock(mutex_);
    return lines_.size();
}

SOTTO_DECL void rendezvous_channel::say(const wire::rendezvous_message& what, byte_view behind) {
    const std::lock_guard lock(mutex_);
    // After this message the receiver expects frames of the job.
    if (what.what == wire::saying::ready) shows_life_ = false;
    for (auto& [peer, l] : lines_) {
        say(l, what);
        l.out.insert(l.out.end(), behind.begin(), behind.end());
        flush(l);
    }
}

SOTTO_DECL std::optional<rendezvous_channel::arrival> rendezvous_channel::next() {
    const std::lock_guard lock(mutex_);
    if (arrivals_.empty()) receive();
    if (arrivals_.empty()) return std::nullopt;
    arrival first = std::move(arrivals_.front());
    arrivals_.pop_front();
    return first;
}

SOTTO_DECL std::optional<std::pair<int, std::string>> rendezvous_channel::first_silent() {
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

SOTTO_DECL std::unique_ptr<tcp_socket> rendezvous_channel::take(int peer) {
    const std::lock_guard lock(mutex_);
    return std::move(lines_.extract(peer).mapped().socket);
}

SOTTO_DECL std::vector<std::unique_ptr<tcp_socket>> rendezvous_channel::take_all() {
    const std::lock_guard lock(mutex_);
    std::vector<std::unique_ptr<tcp_socket>> all;
    for (auto& [peer, l] : std::exchange(lines_, {})) all.push_back(std::move(l.socket));
    return all;
}

SOTTO_DECL duration rendezvous_channel::add_waits(std::vector<pollfd>& waits) const {
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

SOTTO_DECL void rendezvous_channel::tick() {
    const std::lock_guard lock(mutex_);
    show_life();
}

SOTTO_DECL void rendezvous_channel::start() {
    const bool runs = thread_.is_of_this_process() && thread_->joinable();
    if (runs || has_no_thread_) return;
    try {
        thread_ = start_thread("tcp: the thread for signs of life", [this] { run(); });
    } catch (const error&) {  // the job needs a thread later, and reports it
        has_no_thread_ = true;
    }
}

SOTTO_DECL void rendezvous_channel::stop() noexcept {
    if (!thread_.is_of_this_process()) return;
    {
        const std::lock_guard lock(mutex_);
        stopping_ = true;
    }
    stopped_->notify_all();
    if (thread_->joinable()) thread_->join();
}

SOTTO_DECL void rendezvous_channel::run() noexcept {
    std::unique_lock lock(mutex_);
    while (!stopping_) {
        try {
            show_life();
        } catch (...) {  // no memory: the others see the silence
        }
        stopped_->wait_until(lock, shown_ + options_.heartbeat);
    }
}

SOTTO_DECL void rendezvous_channel::show_life() {
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

SOTTO_DECL void rendezvous_channel::say(line& to, wire::rendezvous_message what) const {
    what.rank = own_;
    const auto written = wire::written_rendezvous_message(what);
    to.out.insert(to.out.end(), written.begin(), written.end());
}

SOTTO_DECL void rendezvous_channel::flush(line& to) {
    while (!to.has_ended && !to.out.empty()) {
        const byte_view all = to.out;
        const moved sent = to.socket->write(std::span(&all, 1));
        if (sent.bytes == 0) return;  // reading detects that it is closed, after earlier data
        to.out.erase(to.out.begin(), to.out.begin() + static_cast<std::ptrdiff_t>(sent.bytes));
    }
}

SOTTO_DECL void rendezvous_channel::receive() {
    for (auto& [peer, l] : lines_) {
        while (!l.has_ended && !l.has_gone && read(peer, l)) {}
        flush(l);
    }
}

SOTTO_DECL bool rendezvous_channel::read(int peer, line& from) {
    const std::size_t due = from.table_due ? table_bytes_ : wire::rendezvous_message_bytes;
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

SOTTO_DECL bool rendezvous_channel::take(int peer, line& from, bytes whole) {
    if (from.table_due) {
        const wire::rendezvous_message said = *std::exchange(from.table_due, std::nullopt);
        arrivals_.push_back({.peer = peer, .said = said, .table = std::move(whole)});
        return true;
    }
    const result<wire::rendezvous_message> said = wire::read_rendezvous_message(whole.data());
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

SOTTO_DECL void rendezvous_channel::end(line& of, arrival last) {
    of.has_ended = true;
    arrivals_.push_back(std::move(last));
}

}  // namespace sotto::detail::net
