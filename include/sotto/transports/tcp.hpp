#pragma once

#include "sotto/transports/tcp_socket.hpp"

#include <poll.h>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "sotto/core/bytes.hpp"
#include "sotto/core/clock.hpp"
#include "sotto/core/describe.hpp"
#include "sotto/core/errors.hpp"
#include "sotto/core/placement.hpp"
#include "sotto/core/unwinding.hpp"
#include "sotto/transports/ballot_transport.hpp"
#include "sotto/transports/membership.hpp"
#include "sotto/transports/message_exchange.hpp"
#include "sotto/transports/tcp_control.hpp"
#include "sotto/transports/tcp_join.hpp"
#include "sotto/transports/tcp_options.hpp"
#include "sotto/transports/transport.hpp"

namespace sotto {

/// The transport between processes over TCP.
///
/// Messages go straight from the memory that was lent to the system and back, moved by the thread
/// that uses the transport whenever it is inside of it; what it leaves to the system's buffers
/// travels while it computes. A thread of its own says four times a second that this rank lives,
/// and hears of the others, over connections of its own. A rank that is killed is known to all
/// others at once, one that hangs after tcp_options::dead_after; the others stay what they are and
/// throw peer_failure, which names the first that failed.
///   wire    see tcp_join for how ranks meet, message_link for messages, membership for the rest
///   memory  for each other rank 64 KiB and what it sent before its receive: in blocks of powers of
///           two, so up to twice tcp_options::budget; 8 MiB of such blocks are kept
///   cost    a message of a few bytes takes two calls of the system at each end
///   errors  as in_process; a send may complete before it is received, so that what fails at the
///           receiver is told to a later call
class tcp {
    using transfer = detail::net::transfer;

public:
    using ballot = detail::net::membership::ballot;

    /// Meets the others: returns once all ranks are there.
    ///   errors  as tcp_join
    static tcp join(const tcp_options& options) { return meeting(options).join(); }

    /// The same for a rank that a launcher has placed.
    static tcp join(const placement& place) { return join(tcp_options::at(place)); }

    /// A port that is open before the others are told of it: for rank 0 where the system chooses
    /// the port.
    class meeting {
    public:
        explicit meeting(const tcp_options& options)
            : options_(options),
              io_(std::make_unique<detail::net::asio::io_context>()),
              joining_(std::make_unique<detail::net::tcp_join>(*io_, options)) {}

        std::uint16_t port() {
            require_open();
            return joining_->listen();
        }

        /// Once. Afterwards nobody listens there.
        tcp join() {
            require_open();
            // It closes its port at the end, however that comes, and goes before what it borrows.
            auto connections = std::exchange(joining_, nullptr)->run();
            return tcp(options_, std::move(io_), std::move(connections));
        }

    private:
        void require_open() const {
            if (!joining_) throw std::logic_error("tcp: the meeting is over: it was joined");
        }

        tcp_options options_;
        std::unique_ptr<detail::net::asio::io_context> io_;
        std::unique_ptr<detail::net::tcp_join> joining_;
    };

    tcp(const tcp&) = delete;
    tcp& operator=(const tcp&) = delete;
    /// Leaves; what was sent still arrives, which is waited for while its receivers live, up to
    /// tcp_options::timeout. Where an exception passes, the others are told that this rank failed.
    ~tcp() {
        if (unwinding_.begun()) fail(detail::net::unwound_cause);
        if (!withdrawn_) {
            exchange_.abandon();
            detail::net::close_when_heard(sockets_, options_.timeout,
                                          [&] { return !control_.failed(); });
        }
        control_.stop();
    }

    int rank() const noexcept { return options_.rank; }
    int size() const noexcept { return options_.size; }

    request send(int to, tag label, byte_view out) {
        begin();
        transfer& t = exchange_.send(to, label, out);
        const request made = detail::net::message_exchange::request_of(t);
        if (to != rank()) write(to);
        return made;
    }

    request receive(int from, tag label, mutable_byte_view in) {
        begin();
        transfer& t = exchange_.receive(from, label, in);
        const request made = detail::net::message_exchange::request_of(t);
        for (int peer = 0; peer < size(); ++peer)  // that a message which waits may come
            if (socket(peer)) write(peer);
        return made;
    }

    std::optional<completion> poll(request r) {
        begin();
        transfer& t = exchange_.find(r);
        if (under_way(t)) {
            move_now_and_then();
            if (under_way(t)) {
                require_possible(t);
                return std::nullopt;
            }
        }
        return finish(t);
    }

    completion wait(request r) {
        begin();
        transfer& t = exchange_.find(r);
        block([&] { return !under_way(t); }, [&] { return t.peer; }, [&] { return described(t); },
              [&] { require_possible(t); });
        return finish(t);
    }

    std::uint64_t activity() const noexcept { return exchange_.activity() + control_.news(); }

    void await(std::uint64_t seen) {
        begin();
        if (activity() != seen) return;
        const transfer* waited = nullptr;
        exchange_.for_each_under_way([&](const transfer& t) {
            if (!waited || !t.sends) waited = &t;
        });
        if (!waited) exchange_.misuse("await, but no transfer is under way that could end it");
        block(
            [&] { return activity() != seen; }, [&] { return waited->peer; },
            [&] { return described(*waited); },
            [&] { exchange_.for_each_under_way([&](const transfer& t) { require_possible(t); }); });
    }

    bool agree(bool vote) { return agree(*everyone_, vote); }

    /// The vote of some ranks (ascending; this one among them), as atomic as that of all: for
    /// groups.
    ballot& open_ballot(std::span<const int> members, std::uint32_t label) {
        return control_.with([&](detail::net::membership& m) -> std::reference_wrapper<ballot> {
            return m.open(members, label);
        });
    }

    bool agree(ballot& among, bool vote) {
        begin();
        if (!among.has(rank()))
            throw invalid_option("tcp: rank " + std::to_string(rank()) +
                                 " votes in a ballot that it is not a member of");
        control_.listen();  // before the vote: a rank that hung may have been given up
        const std::uint64_t poll =
            control_.with([&](detail::net::membership& m) { return m.vote(among, vote); });
        std::optional<bool> verdict;
        bool settled = false;  // there will be none
        std::uint64_t looked_at = control_.news() - 1;
        int absent = any_rank;
        const auto look = [&] {
            control_.listen();
            const std::uint64_t news = control_.news();
            if (std::exchange(looked_at, news) == news) return verdict || settled;
            control_.with([&](detail::net::membership& m) {
                if (among.completed > poll)
                    verdict = among.verdict;
                else if ((absent = m.first_absent(among)) >= 0 &&
                         m.of(absent) == detail::net::membership::standing::left)
                    m.fail(absent, left_cause);
                settled = m.settled();
            });
            return verdict || settled;
        };
        block(
            look, [&] { return absent; }, [] { return std::string("a vote"); }, [] {}, true);
        if (!verdict) raise();
        return *verdict;
    }

    void withdraw() noexcept {
        withdrawn_ = true;
        exchange_.abandon();
        for (auto& socket : sockets_)
            if (socket) socket->close();
    }

    void fail(std::string_view cause) noexcept {
        try {
            control_.with([&](detail::net::membership& m) {
                if (!m.first_failure()) m.fail(rank(), std::string(cause));
            });
        } catch (...) {  // no memory for the text: closing says it without
        }
        withdraw();
    }

    void at(occasion now) noexcept { occasion_ = now; }
    void reserve(std::int64_t count) { exchange_.reserve(count); }
    time_point now() const noexcept { return std::chrono::steady_clock::now(); }
    void charge(work) const noexcept {}
    traffic counters() const noexcept { return exchange_.counters(); }

private:
    static constexpr const char* left_cause = "it left: it is done";

    tcp(const tcp_options& options, std::unique_ptr<detail::net::asio::io_context> io,
        detail::net::tcp_connections connections)
        : options_(options),
          io_(std::move(io)),
          exchange_("tcp", options.rank, options.size),
          sockets_(std::move(connections.data)),
          control_(membership_of(options, connections), std::move(connections.control), woken_) {
        for (int peer = 0; peer < size(); ++peer) {
            if (!socket(peer)) continue;
            socket(peer)->hurry_within_machine();
            exchange_.connect(peer, {.epoch = 0,
                                     .seed_out = connections.seed(rank(), peer, 2),
                                     .seed_in = connections.seed(peer, rank(), 2),
                                     .budget = options.budget});
        }
        // A year is for ever, and still a time that clocks can show.
        options_.timeout = std::min<duration>(options_.timeout, std::chrono::years(1));
        std::vector<int> everyone(static_cast<std::size_t>(size()));
        for (int peer = 0; peer < size(); ++peer) everyone[static_cast<std::size_t>(peer)] = peer;
        everyone_ = &open_ballot(everyone, 0);
        reserve(options.transfers);
        // What came together with the last of the handshake is there, though poll(2) says nothing.
        for (int peer = 0; peer < size(); ++peer)
            if (socket(peer)) read(peer);
    }

    static detail::net::membership membership_of(const tcp_options& options,
                                                 const detail::net::tcp_connections& of) {
        return {options.rank,
                options.size,
                0,
                {options.heartbeat, options.dead_after},
                [&](int from, int to) { return of.seed(from, to, 1); },
                std::chrono::steady_clock::now()};
    }

    std::unique_ptr<detail::net::tcp_socket>& socket(int peer) noexcept {
        return sockets_[static_cast<std::size_t>(peer)];
    }

    static bool under_way(const transfer& t) noexcept {
        return t.reached == transfer::stage::posted;
    }

    void begin() {
        if (control_.failed()) raise();
        if (withdrawn_) exchange_.misuse("called after it withdrew");
    }

    completion finish(transfer& t) {
        if (t.reached == transfer::stage::too_long) {
            const std::string text = "a message of " + std::to_string(t.ended.bytes) + " bytes " +
                                     detail::net::name_of(t.label) + " from rank " +
                                     std::to_string(t.ended.source) + " to rank " +
                                     std::to_string(rank()) + ", which has room for " +
                                     std::to_string(t.room());
            fail(text);
            throw mismatch(text);
        }
        return exchange_.finish(t);
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
            if (!socket(peer)) continue;
            if (from_all || exchange_.expects(peer)) read(peer, from_all ? keeps_all : keeps);
            halted_ = halted_ || (socket(peer) && exchange_.link_to(peer)->halted());
            write(peer);
            full = full || (socket(peer) && exchange_.link_to(peer)->has_output());
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

    void write(int peer) {
        detail::net::message_link& link = *exchange_.link_to(peer);
        while (socket(peer) && link.has_output()) {
            const detail::net::moved sent = socket(peer)->write(link.output());
            if (sent.bytes == 0) return;  // that it is closed is read, after what came before
            link.written(sent.bytes);
        }
    }

    void read(int peer, std::int64_t keeps = keeps_all) {
        detail::net::message_link& link = *exchange_.link_to(peer);
        if (link.halted() && !take(peer, link.received(0, keeps))) return;
        while (socket(peer) && !link.halted()) {
            const auto room = link.input();
            const detail::net::moved got = socket(peer)->read(room);
            if (got.closed) return lose(peer);
            if (!take(peer, link.received(got.bytes, keeps))) return;
            if (got.bytes < room[0].size() + room[1].size()) return;
        }
    }

    /// Whether what a rank sent could be used.
    bool take(int peer, const std::optional<fault>& why) {
        if (!why) return true;
        accuse(peer, "it sent what is no frame: " + why->text(), errc::malformed);
        lose(peer);
        return false;
    }

    /// The connection is of no more use. Why, the control connection knows.
    void lose(int peer) {
        if (!exchange_.link_to(peer)->between_frames()) cut_short_ = peer;
        socket(peer)->close();
        socket(peer).reset();
        lost_at_ = now();
    }

    void accuse(int peer, const std::string& cause, errc code = errc::peer_failed) {
        control_.with([&](detail::net::membership& m) { m.fail(peer, cause, code); });
    }

    /// Throws if a transfer that is under way can never complete because its peer is done.
    void require_possible(const transfer& t) {
        const int peer = t.peer;
        if (peer == rank() || (peer != any_rank && socket(peer))) return;
        if (peer == any_rank) {
            for (int other = 0; other < size(); ++other)
                if (socket(other)) return;
            if (size() == 1) return;
        }
        const int gone = peer == any_rank ? (rank() == 0 ? 1 : 0) : peer;
        using detail::net::membership;
        control_.listen();
        const auto is = control_.with([&](membership& m) { return m.of(gone); });
        if (is == membership::standing::left) accuse(gone, left_cause);
        // Else that it failed is on its way; a rank whose data connection alone broke has failed.
        else if (is == membership::standing::alive && now() - lost_at_ > grace)
            accuse(gone, cut_short_ == gone ? "the connection for messages broke inside of one"
                                            : "the connection for messages broke");
        if (control_.failed()) raise();
    }

    /// Moves bytes until `done`; throws at the deadline, or when a rank failed. `settles`: what is
    /// waited for is decided even if a rank failed, one that is late at the deadline included: who
    /// gave up by its own clock might miss what the others have seen complete. For that there is as
    /// much time again, and 10 s at least.
    template <class Done, class Whom, class Describe, class Check>
    void block(Done done, Whom whom, Describe describe_it, Check check, bool settles = false) {
        if (move_until(done)) return;
        const time_point started = now();
        time_point deadline = started + options_.timeout;
        bool slept = false;
        for (bool late = false; true;) {
            if (control_.failed() && !settles) raise();
            check();
            const time_point present = now();
            if (present >= deadline) {
                if (!control_.failed()) be_late(whom(), describe_it());
                if (!settles || std::exchange(late, true)) raise();
                deadline = present + std::max<duration>(options_.timeout, settling);
            }
            const bool sleeps = present - started > patience;
            if (sleeps && halted_ && move_until(done, keeps_all)) break;
            if (sleeps) {
                control_.wait_for(whom());
                slept = true;
                sleep(deadline - present);
            } else {
                std::this_thread::yield();
            }
            if (move_until(done)) break;
        }
        if (slept) control_.wait_for(detail::net::waits_for_nobody);
    }

    void sleep(duration most) {
        waits_.assign(1, {woken_.handle(), POLLIN, 0});
        waiting_ranks_.assign(1, rank());
        for (int peer = 0; peer < size(); ++peer) {
            if (!socket(peer)) continue;
            waits_.push_back({socket(peer)->handle(),
                              socket(peer)->interest(exchange_.link_to(peer)->has_output()), 0});
            waiting_ranks_.push_back(peer);
        }
        const bool lost = waits_.size() < static_cast<std::size_t>(size());
        detail::net::wait_for_any(waits_,
                                  std::min<duration>(most, lost ? grace : std::chrono::seconds(1)));
        if ((waits_[0].revents & POLLIN) != 0) woken_.silence();
        for (std::size_t i = 1; i < waits_.size(); ++i) {
            const int peer = waiting_ranks_[i];  // `move` reads the others
            if ((waits_[i].revents & ~POLLOUT) != 0 && !exchange_.expects(peer)) read(peer);
        }
    }

    void be_late(int peer, const std::string& what) {
        control_.with([&](detail::net::membership& m) {
            const int late = m.end_of_chain(peer);
            std::string text = "it was late: rank " + std::to_string(rank()) + " waited ";
            detail::append_number(text, in_seconds(options_.timeout));
            m.fail(late, text + " s for " + what + "; tcp_options::timeout sets the limit",
                   errc::timed_out);
        });
    }

    [[noreturn]] void raise() {
        withdraw();  // first: the caller's memory goes while the exception passes
        const auto why =
            control_.with([](detail::net::membership& m) { return m.first_failure(); });
        if (!why) throw peer_failure(rank(), "its memory is used up", occasion_);
        throw peer_failure(why->rank, why->cause, occasion_, why->code);
    }

    static constexpr duration patience = std::chrono::microseconds(50);
    static constexpr std::int64_t keeps_all = detail::net::keeps_all;
    static constexpr std::int64_t short_max = 16384;  // copied while nothing else is to do
    static constexpr duration full_max = std::chrono::milliseconds(10);
    static constexpr duration settling = std::chrono::seconds(10);
    // For word of a rank whose connection for messages ended.
    static constexpr duration grace = std::chrono::milliseconds(500);

    tcp_options options_;
    std::unique_ptr<detail::net::asio::io_context> io_;  // before its sockets
    detail::net::message_exchange exchange_;
    std::vector<std::unique_ptr<detail::net::tcp_socket>> sockets_;  // for messages, by rank
    detail::net::wake_up woken_;
    detail::net::tcp_control control_;
    ballot* everyone_ = nullptr;
    bool withdrawn_ = false;
    unwinding unwinding_;
    occasion occasion_;
    time_point moved_at_{}, lost_at_{}, full_at_{};
    bool halted_ = false;       // some link, before a message that no receive waits for
    bool full_ = false;         // some connection took not all there was to write
    int cut_short_ = any_rank;  // the rank whose connection ended inside a message
    std::vector<pollfd> waits_;
    std::vector<int> waiting_ranks_;  // whose they are
};

static_assert(ballot_transport<tcp>);

}  // namespace sotto
