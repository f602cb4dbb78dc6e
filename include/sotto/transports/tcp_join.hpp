#pragma once

#include "sotto/transports/tcp_socket.hpp"

#include <poll.h>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <list>
#include <memory>
#include <optional>
#include <random>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "sotto/core/bytes.hpp"
#include "sotto/core/clock.hpp"
#include "sotto/core/describe.hpp"
#include "sotto/core/errors.hpp"
#include "sotto/core/result.hpp"
#include "sotto/transports/handshake.hpp"
#include "sotto/transports/tcp_address.hpp"
#include "sotto/transports/tcp_connections.hpp"
#include "sotto/transports/tcp_listener.hpp"
#include "sotto/transports/tcp_opening.hpp"
#include "sotto/transports/tcp_options.hpp"
#include "sotto/wire/hello.hpp"
#include "sotto/wire/rank_table.hpp"
#include "sotto/wire/word.hpp"

namespace sotto::detail::net {

/// How the ranks of a job find each other.
///
/// Every rank but 0 says hello to rank 0, and where it listens. From then on both say four times
/// a second that they live. Once all have come, rank 0 tells everybody where everybody listens; the
/// higher of two ranks connects to the lower, once for control and once for data (to rank 0 the
/// first connection is for control). Who has all its connections says so to rank 0, and when all
/// have, rank 0 lets them go. A rank that is lost meanwhile, or that another one cannot reach, is
/// rank 0's to name; everybody else waits for its word.
///   wire    wire/hello.hpp, wire/word.hpp, wire/rank_table.hpp
///   cost    a full mesh, 2 (N - 1) sockets a rank: collectives differ in who their neighbours are.
///           One connection for data fills 1 Gbit/s, see bench/network
///   errors  invalid_option: options that cannot work, or an address that strangers could reach;
///           mismatch: another rank is configured differently; io_failure: the system refuses to
///           listen; peer_failure: a rank is lost meanwhile; error (timed_out): ranks never came
class tcp_join {
    using tcp = asio::ip::tcp;
    using stage = tcp_opening::stage;
    using saying = wire::saying;
    using enum wire::connection_purpose;

public:
    tcp_join(asio::io_context& io, const tcp_options& options)
        : io_(&io), options_(options), listener_(io) {
        require_possible(options);
        const auto count = static_cast<std::size_t>(options.size);
        made_.control.resize(count);
        made_.data.resize(count);
        made_.incarnations.resize(count);
        places_.resize(count);
        ready_.resize(count);
        std::random_device entropy;
        made_.incarnations[own()] = (std::uint64_t{entropy()} << 32 ^ entropy()) | 1;
        deadline_ = now() + options_.join;
        if (options_.listener >= 0) {
            listener_.adopt(options_.rank, options_.listener);
            require_private(options_, listener_.place().address(), "listener");
        }
    }

    /// Opens the port that others find rank 0 at, to know it where it was given as 0.
    std::uint16_t listen() {
        if (!listener_.is_open())
            listen_on({find_leader(*io_, options_, deadline_), options_.port});
        return listener_.place().port();
    }

    tcp_connections run() {
        if (options_.size == 1) return std::move(made_);
        deadline_ = now() + options_.join;
        if (options_.rank == 0) {
            listen();
            ready_[0] = true;
            if (!options_.security) listener_.warn_of_strangers();
        } else {
            const auto address = find_leader(*io_, options_, deadline_);
            require_private(options_, address, "address");
            meeting_ = {address, options_.port};
            openings_.push_back(tcp_opening::to(meeting_, 0, rendezvous));
        }
        while (!released_) {
            wait();
            accept_all();
            for (auto o = openings_.begin(); o != openings_.end();) {
                // A step may add connections at the end of the list, but takes none away.
                const bool goes_on = step(*o);
                if (!goes_on && o->is_stranger() && !o->closes && o->peer < 0)
                    strangers_.add(o->address);
                o = goes_on ? std::next(o) : openings_.erase(o);
            }
            if (released_) break;
            show_life();
            options_.rank == 0 ? lead() : follow();
            if (!released_ && now() >= deadline_) give_up();
        }
        return std::move(made_);
    }

private:
    static time_point now() noexcept { return std::chrono::steady_clock::now(); }
    static std::size_t index(int rank) noexcept { return static_cast<std::size_t>(rank); }
    std::size_t own() const noexcept { return index(options_.rank); }

    void listen_on(const tcp::endpoint& at) {
        require_private(options_, at.address(), "bind");
        listener_.open(options_.rank, at);
    }

    // Waiting

    void wait() {
        waits_.clear();
        time_point until = std::min(deadline_, said_alive_ + options_.heartbeat);
        if (const auto strangers = listener_.waits()) waits_.push_back(*strangers);
        for (const tcp_opening& o : openings_) {
            if (o.at <= stage::hello_due) until = std::min(until, o.until);
            if (!o.socket()) continue;
            const bool connects = o.at == stage::connecting;
            const short interest = connects ? short{POLLOUT} : o.socket()->interest(o.has_output());
            waits_.push_back({o.socket()->handle(), interest, 0});
        }
        const auto most = std::chrono::milliseconds(listener_.resting() ? 100 : 1000);
        wait_for_any(waits_, std::min<duration>(until - now(), most));
    }

    void accept_all() {
        listener_.accept([&](tcp::socket socket, const asio::ip::address& from) {
            const std::string address = from.to_string();
            make_room_for_stranger(openings_, address, options_.size);
            openings_.push_back(tcp_opening::from(
                std::move(socket), address, options_.security ? stage::knock_due : stage::hello_due,
                now() + options_.handshake));
        });
    }

    /// While all gather, silence is told from patience.
    void show_life() {
        const time_point present = now();
        if (present - said_alive_ >= options_.heartbeat) {
            said_alive_ = present;
            // Behind "ready" rank 0 may read frames already, and behind "go" the others.
            if (!said_ready_ && !releases_)
                for_each_met([&](tcp_opening& o) { say(o, {.what = saying::alive}); });
        }
        if (options_.dead_after <= duration::zero()) return;
        for_each_met([&](tcp_opening& o) {
            if (ready_[index(o.peer)] || present - o.heard <= options_.dead_after) return;
            std::string how = "no sign of life from it for ";
            append_number(how, in_seconds(options_.dead_after));
            lose(o.peer, how + " s: it hangs, or the network to it is cut");
        });
    }

    void say(tcp_opening& o, wire::word what) {
        what.rank = static_cast<std::uint32_t>(options_.rank);
        o.say(wire::written_word(what));
        (void)o.flush();  // what fails now is read by the next step
    }

    // One connection

    /// Does what can be done; false if the connection is of no more use.
    bool step(tcp_opening& o) {
        if (o.at == stage::done) return false;
        if (o.at == stage::resting) {
            if (now() < o.until) return true;
            o.connect(*io_, now(), options_.handshake);
            if (o.purpose == rendezvous && !o.no_socket().empty()) tries_.unanswered(o.no_socket());
            return true;
        }
        if (o.at == stage::connecting && !finish_connecting(o)) return true;
        if (o.is_stranger() && now() > o.until) return false;
        if (o.closes) return !o.flush() && o.has_output() && now() <= o.until;
        // What was said before a connection ended is heard before its end is.
        std::optional<std::string> ended;
        while (const auto whole = o.read(o.due(index(options_.size)), ended))
            if (!take(o, *whole)) return false;
        if (o.at == stage::hello_due && !o.may_become_hello()) return false;
        if (!ended) ended = o.flush();
        return !ended || lost(o, *ended);
    }

    bool finish_connecting(tcp_opening& o) {
        const connecting_state state = o.socket()->connecting();
        if (state == connecting_state::under_way && now() < o.until) return false;
        if (state != connecting_state::connected) {
            if (o.purpose == rendezvous) tries_.unanswered("nobody answered there");
            try_again(o);
            return false;
        }
        if (options_.security)
            o.socket()->secure(options_.security->connect(o.socket()->handle(), options_.job,
                                                          options_.rank, o.peer));
        const auto here = o.socket()->local_address();
        if (o.purpose == rendezvous && !listener_.is_open())
            listen_on({options_.bind.empty()
                           ? here
                           : find_address(*io_, options_, options_.bind, deadline_),
                       0});
        o.say(wire::written_hello(own_hello(o.purpose, here)));
        o.at = stage::welcome_due;
        return true;
    }

    /// Its process has not begun to listen, or its queue is full: the deadline is that of all.
    void try_again(tcp_opening& o) const noexcept { o.rest(now() + std::chrono::milliseconds(20)); }

    /// `here`: the address by which this rank reaches others, for one that listens on all it has.
    wire::hello own_hello(wire::connection_purpose purpose, const asio::ip::address& here) const {
        wire::hello h = hello_of(options_);
        h.purpose = purpose;
        h.incarnation = made_.incarnations[own()];
        if (listener_.is_open()) {
            tcp::endpoint at = listener_.place();
            if (at.address().is_unspecified()) at.address(here);
            h.listens = to_wire(at);
        }
        return h;
    }

    bool take(tcp_opening& o, const bytes& whole) {
        switch (o.at) {
            case stage::knock_due: return let_in(o, whole);
            case stage::hello_due: return greet(o, wire::read_hello(whole.data()));
            case stage::table_due: return meet_all(o, whole);
            default: break;
        }
        const result<wire::word> said = wire::read_word(whole.data());
        if (!said) {
            if (options_.rank == 0) lose(o.peer, "it sent what is no word: " + said.why().text());
            throw malformed("tcp: a word of " + described(o.place()), said.why());
        }
        if (said->what == saying::refused) {
            require_sockets(openings_, made_.lacking(options_.rank), options_);
            raise(*said, options_.rank, options_.job);
        }
        if (o.at == stage::welcome_due) return be_greeted(o, *said);
        o.heard = now();
        return options_.rank == 0 ? hear_follower(o, *said) : hear_leader(o, *said);
    }

    /// A connection ended before its time. Strangers may; ranks may not.
    bool lost(tcp_opening& o, const std::string& how) {
        if (o.is_stranger()) return false;
        if (o.at == stage::welcome_due) {
            if (o.purpose == rendezvous) tries_.ended(how + why_not_greeted(options_));
            try_again(o);
            return true;
        }
        if (releases_) {  // it has all it needs: how it ended is the job's to find out
            place_of(o) = o.taken_over();
            return false;
        }
        lose(o.peer, how);
    }

    bool let_in(tcp_opening& o, byte_view first) {
        if (!options_.security->may_begin_with(first)) return false;
        o.socket()->secure(
            options_.security->accept(o.socket()->handle(), options_.job, options_.rank, first));
        o.at = stage::hello_due;
        return true;
    }

    bool greet(tcp_opening& o, const result<wire::hello>& said) {
        if (!said) return false;  // a stranger
        wire::word answer = judge(*said, own_hello(said->purpose, o.socket()->local_address()));
        const int peer = static_cast<int>(said->rank);
        if (const auto* const secret = o.socket()->secret(); secret && secret->client() != peer)
            return false;  // it has the key of another rank
        if (answer.why == wire::refusal::none) answer = admit(*said, answer);
        o.say(wire::written_word(answer));
        if (answer.why != wire::refusal::none) {
            turned_away_ = reason(answer, peer, options_.job);
            o.closes = true;
            return !o.flush() && o.has_output();
        }
        o.peer = peer;
        o.purpose = said->purpose;
        made_.incarnations[index(peer)] = said->incarnation;
        if (o.purpose == rendezvous) {
            places_[index(peer)] = said->listens;
            o.at = stage::parked;
            o.heard = now();
            return true;
        }
        if (o.flush() || o.has_output()) return false;  // it will try again
        place_of(o) = o.taken_over();
        return false;
    }

    /// Whether the connection is one that this rank waits for.
    wire::word admit(const wire::hello& said, wire::word answer) {
        const int peer = static_cast<int>(said.rank);
        const bool meets = said.purpose == rendezvous;
        answer.theirs = said.rank;
        if (peer <= options_.rank || meets != (options_.rank == 0 && said.purpose != data))
            answer.why = wire::refusal::unexpected;
        const std::uint64_t known = made_.incarnations[said.rank];
        const auto& place = said.purpose == data ? made_.data : made_.control;
        const bool taken = meets ? known != 0 : place[said.rank] != nullptr;
        if (taken || (known != 0 && known != said.incarnation))
            answer.why = wire::refusal::duplicate;
        if (answer.why != wire::refusal::none) answer.what = saying::refused;
        return answer;
    }

    std::unique_ptr<tcp_socket>& place_of(const tcp_opening& o) noexcept {
        return (o.purpose == data ? made_.data : made_.control)[index(o.peer)];
    }

    bool be_greeted(tcp_opening& o, const wire::word& said) {
        std::uint64_t& known = made_.incarnations[index(o.peer)];
        require_welcome(said, o.peer, known, described(o.place()));
        known = said.incarnation;
        if (o.purpose == rendezvous) {
            o.at = stage::parked;
            o.heard = now();
            // From here on rank 0 says how it goes; it waits for others, and then for connections.
            deadline_ = o.heard + 3 * options_.join + options_.dead_after;
            return true;
        }
        place_of(o) = o.taken_over();
        return false;
    }

    bool meet_all(tcp_opening& o, const bytes& table) {
        const auto places = wire::read_rank_table(table, index(options_.size));
        if (!places) throw malformed("tcp: the table of ranks that rank 0 sent", places.why());
        openings_.push_back(tcp_opening::to(meeting_, 0, data));
        for (int lower = 1; lower < options_.rank; ++lower) {
            const tcp::endpoint there = from_wire((*places)[index(lower)]);
            require_private(options_, there.address(),
                            "the address of rank " + std::to_string(lower));
            for (const auto purpose : {control, data})
                openings_.push_back(tcp_opening::to(there, lower, purpose));
        }
        o.at = stage::parked;
        o.heard = now();
        connects_until_ = o.heard + options_.join;
        return true;
    }

    bool hear_leader(tcp_opening& o, const wire::word& said) {
        if (said.what == saying::table) o.at = stage::table_due;
        if (said.what != saying::go) return true;
        made_.control[0] = o.taken_over();
        released_ = true;
        return false;
    }

    bool hear_follower(tcp_opening& o, const wire::word& said) {
        if (said.what == saying::ready) ready_[index(o.peer)] = true;
        if (said.what == saying::lacks && said.ours < places_.size())
            lose(static_cast<int>(said.ours), "rank " + std::to_string(o.peer) +
                                                  " could not connect to it within " +
                                                  limit_of_join(options_));
        return true;
    }

    // All together

    /// Calls with the connections between rank 0 and those that it has met.
    template <class Visitor>
    void for_each_met(Visitor&& visit) {
        for (tcp_opening& o : openings_)
            if (o.at == stage::parked || o.at == stage::table_due) visit(o);
    }

    /// Rank 0.
    void lead() {
        if (!all_met_) {
            int met = 0;
            for_each_met([&](const tcp_opening&) { ++met; });
            if (met < options_.size - 1) return;
            const bytes table = wire::written_rank_table(places_);
            for_each_met([&](tcp_opening& o) {
                o.say(wire::written_word({.what = saying::table}));
                o.say(table);
            });
            all_met_ = true;
            // Longer than the others try to connect, so that they say to whom they could not.
            deadline_ = now() + 2 * options_.join;
        }
        const bool all_ready = std::find(ready_.begin(), ready_.end(), false) == ready_.end();
        if (!all_ready || made_.lacking(options_.rank)) return;
        if (!std::exchange(releases_, true))
            for_each_met([](tcp_opening& o) { o.say(wire::written_word({.what = saying::go})); });
        release();
    }

    /// From here on a rank that is lost is found by those that listen to it, as in the job.
    void release() {
        released_ = true;
        for_each_met([&](tcp_opening& o) {
            if (!o.flush() && o.has_output())
                released_ = false;
            else
                place_of(o) = o.taken_over();
        });
    }

    /// The others.
    void follow() {
        if (said_ready_ || !connects_until_) return;
        const std::optional<int> lacks = made_.lacking(options_.rank);
        if (lacks && now() < *connects_until_) return;
        require_sockets(openings_, lacks, options_);
        wire::word word{.what = lacks ? saying::lacks : saying::ready};
        if (lacks) word.ours = static_cast<std::uint64_t>(*lacks);
        for_each_met([&](tcp_opening& o) { say(o, word); });
        said_ready_ = !lacks;
        if (lacks) connects_until_ = now() + options_.join;  // rank 0 has the word until then
    }

    /// A rank that had come is gone. All that there are hear it from rank 0.
    [[noreturn]] void lose(int rank, const std::string& how) {
        if (options_.rank == 0)
            tell({.what = saying::refused,
                  .why = wire::refusal::lost,
                  .ours = static_cast<std::uint64_t>(rank)});
        throw peer_failure(rank, how, {.phase = "rendezvous"});
    }

    void tell(const wire::word& word) {
        for_each_met([&](tcp_opening& o) { say(o, word); });
        std::vector<std::unique_ptr<tcp_socket>> told;
        for_each_met([&](tcp_opening& o) { told.push_back(o.taken_over()); });
        close_when_heard(told, std::chrono::milliseconds(500));
    }

    [[noreturn]] void give_up() {
        if (options_.rank != 0) {
            const std::string where = options_.address + " port " + std::to_string(options_.port);
            for (const tcp_opening& o : openings_)
                if (o.at == stage::welcome_due && o.purpose == rendezvous)
                    tries_.not_greeted("it was let in and not greeted" + why_not_greeted(options_));
            throw error(errc::timed_out, "tcp: rank " + std::to_string(options_.rank) +
                                             " waited for rank 0 at " + where + " (" +
                                             meeting_.address().to_string() + ") for " +
                                             limit_of_join(options_) + tries_.described());
        }
        if (all_met_)
            for (int rank = 1; rank < options_.size; ++rank)
                if (!ready_[index(rank)] || !made_.data[index(rank)])
                    lose(rank,
                         "it did not connect to all others within " + limit_of_join(options_));
        const std::vector<int> absent = made_.absent();
        tell({.what = saying::refused,
              .why = wire::refusal::absent,
              .ours = static_cast<std::uint64_t>(absent.front()),
              .theirs = absent.size()});
        throw error(errc::timed_out,
                    "tcp: " + std::to_string(absent.size()) + " of " +
                        std::to_string(options_.size) + " ranks did not come (" + listed(absent) +
                        ") to rank 0 at " + described(listener_.place()) + " within " +
                        limit_of_join(options_) +
                        (turned_away_.empty() ? "" : "; turned away: " + turned_away_) +
                        strangers_.described(options_));
    }

    asio::io_context* io_;
    tcp_options options_;
    tcp_listener listener_;
    tcp::endpoint meeting_;  // where rank 0 is
    time_point deadline_{};
    time_point said_alive_{};
    std::optional<time_point> connects_until_;   // the others: since all are there
    bool all_met_ = false;                       // rank 0
    bool releases_ = false;                      // rank 0
    std::vector<wire::listening_place> places_;  // rank 0: of all
    std::vector<bool> ready_;                    // rank 0: who has all its connections
    bool said_ready_ = false;
    bool released_ = false;
    failed_tries tries_;       // to be greeted by rank 0
    std::string turned_away_;  // the last rank that was, and why
    seen_strangers strangers_;
    std::list<tcp_opening> openings_;
    std::vector<pollfd> waits_;
    tcp_connections made_;
};

}  // namespace sotto::detail::net
