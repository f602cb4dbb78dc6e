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
#include "sotto/transports/tcp_opening.hpp"
#include "sotto/transports/tcp_options.hpp"
#include "sotto/wire/frame.hpp"
#include "sotto/wire/hello.hpp"
#include "sotto/wire/rank_table.hpp"

namespace sotto::detail::net {

/// Connections between one rank and all others, and what tells this start of each from another.
struct tcp_connections {
    std::vector<std::unique_ptr<tcp_socket>> control, data;  // by rank; none to itself
    std::vector<std::uint64_t> incarnations;

    /// Of the digests from one rank to another.
    std::uint64_t seed(int from, int to, std::uint64_t purpose) const noexcept {
        const std::uint64_t words[] = {incarnations[static_cast<std::size_t>(from)],
                                       incarnations[static_cast<std::size_t>(to)],
                                       static_cast<std::uint64_t>(from),
                                       static_cast<std::uint64_t>(to)};
        return wire::frame_digest(std::as_bytes(std::span(words)), purpose);
    }
};

/// How the ranks of a job find each other.
///
/// Every rank but 0 says hello to rank 0, and where it listens. Once all have, rank 0 tells
/// everybody where everybody listens; the higher of two ranks connects to the lower, once for
/// control and once for data (to rank 0 the first connection is for control). Who has all its
/// connections says so to rank 0, and when all have, rank 0 lets them go. A rank that is lost
/// meanwhile is rank 0's to name; everybody waits for its word.
///   wire    wire/hello.hpp, wire/rank_table.hpp; "ready", "go" and who was lost are welcomes
///   errors  invalid_option: options that cannot work, or an address that strangers could reach;
///           mismatch: another rank is configured differently; io_failure: the system refuses to
///           listen; peer_failure: a rank is lost meanwhile; error (timed_out): ranks never came
class tcp_join {
    using tcp = asio::ip::tcp;
    using stage = tcp_opening::stage;
    using enum wire::connection_purpose;

public:
    tcp_join(asio::io_context& io, const tcp_options& options)
        : io_(&io), options_(options), acceptor_(io) {
        require_possible(options);
        const auto count = static_cast<std::size_t>(options.size);
        made_.control.resize(count);
        made_.data.resize(count);
        made_.incarnations.resize(count);
        places_.resize(count);
        ready_.resize(count);
        std::random_device entropy;
        made_.incarnations[own()] = (std::uint64_t{entropy()} << 32 ^ entropy()) | 1;
    }

    /// Opens the port that others find rank 0 at, to know it where it was given as 0.
    std::uint16_t listen() {
        if (!acceptor_.is_open())
            listen_on(resolve(*io_, options_.bind.empty() ? options_.address : options_.bind),
                      options_.port);
        return acceptor_.local_endpoint().port();
    }

    tcp_connections run() {
        if (options_.size == 1) return std::move(made_);
        deadline_ = now() + options_.join;
        if (options_.rank == 0) {
            listen();
            ready_[0] = true;
        } else {
            const auto address = resolve(*io_, options_.address);
            require_private(address, "address");
            meeting_ = {address, options_.port};
            openings_.push_back(tcp_opening::to(meeting_, 0, rendezvous));
        }
        while (!released_) {
            wait();
            accept_all();
            for (auto o = openings_.begin(); o != openings_.end();)
                // A step may add connections at the end of the list, but takes none away.
                o = step(*o) ? std::next(o) : openings_.erase(o);
            if (released_) break;
            options_.rank == 0 ? lead() : follow();
            if (!released_ && now() >= deadline_) give_up();
        }
        return std::move(made_);
    }

private:
    static time_point now() noexcept { return std::chrono::steady_clock::now(); }
    static std::size_t index(int rank) noexcept { return static_cast<std::size_t>(rank); }
    std::size_t own() const noexcept { return index(options_.rank); }

    void require_private(const asio::ip::address& place, const char* option) const {
        if (place.is_loopback() || options_.insecure_network) return;
        throw invalid_option(
            "tcp: " + std::string(option) + " is " + place.to_string() +
            ", which other machines can reach, and whoever can could join: set insecure_network "
            "where the network is yours alone");
    }

    void listen_on(const asio::ip::address& place, std::uint16_t port) {
        require_private(place, "bind");
        const tcp::endpoint at(place, port);
        boost::system::error_code why;
        acceptor_.open(at.protocol(), why);
        if (!why) acceptor_.set_option(tcp::acceptor::reuse_address(true), why);
        if (!why) acceptor_.bind(at, why);
        if (!why) acceptor_.listen(2 * options_.size + 16, why);
        if (!why) acceptor_.non_blocking(true, why);
        if (why) {
            boost::system::error_code ignored;
            acceptor_.close(ignored);
            throw io_failure("tcp: rank " + std::to_string(options_.rank) + " cannot listen on " +
                             place.to_string() + " port " + std::to_string(port) + ": " +
                             why.message());
        }
        ::fcntl(acceptor_.native_handle(), F_SETFD, FD_CLOEXEC);
    }

    void wait() {
        waits_.clear();
        time_point until = std::min(deadline_, answers_until_.value_or(deadline_));
        if (acceptor_.is_open()) waits_.push_back({acceptor_.native_handle(), POLLIN, 0});
        for (const tcp_opening& o : openings_) {
            if (o.at <= stage::hello_due) until = std::min(until, o.until);
            if (!o.socket()) continue;
            const bool writes = o.at == stage::connecting || o.has_output();
            waits_.push_back(
                {o.socket()->handle(), static_cast<short>(writes ? POLLOUT | POLLIN : POLLIN), 0});
        }
        const auto left =
            std::chrono::duration_cast<std::chrono::milliseconds>(until - now()).count() + 1;
        ::poll(waits_.data(), waits_.size(),
               static_cast<int>(std::clamp<std::int64_t>(left, 0, 1000)));
    }

    void accept_all() {
        while (acceptor_.is_open()) {
            boost::system::error_code why;
            tcp::endpoint from;
            tcp::socket socket = acceptor_.accept(from, why);
            if (why) return;
            const std::string address = from.address().to_string();
            make_room(address);
            openings_.push_back(
                tcp_opening::from(std::move(socket), address, now() + options_.handshake));
        }
    }

    /// Strangers may hold only so many connections: the oldest goes.
    void make_room(const std::string& from) {
        const auto silent = [](const tcp_opening& o) { return o.at == stage::hello_due; };
        const auto drop_oldest = [&](auto is_one, int most) {
            if (std::count_if(openings_.begin(), openings_.end(), is_one) >= most)
                openings_.erase(std::find_if(openings_.begin(), openings_.end(), is_one));
        };
        drop_oldest(silent, 2 * options_.size + 16);
        drop_oldest([&](const tcp_opening& o) { return silent(o) && o.address == from; },
                    options_.size + 8);
    }

    // One connection

    /// Does what can be done; false if the connection is of no more use.
    bool step(tcp_opening& o) {
        if (o.at == stage::done) return false;
        if (o.at == stage::resting) {
            if (now() >= o.until) o.connect(*io_, now() + options_.handshake);
            return true;
        }
        if (o.at == stage::connecting && !finish_connecting(o)) return true;
        if (o.at == stage::hello_due && now() > o.until) return false;
        if (const auto why = o.flush()) return lost(o, *why);
        if (o.closes && !o.has_output()) return false;
        std::optional<std::string> ended;
        while (const auto whole = o.read(due(o), ended))
            if (!take(o, *whole)) return false;
        return !ended || lost(o, *ended);
    }

    bool finish_connecting(tcp_opening& o) {
        const connecting_state state = o.socket()->connecting();
        if (state == connecting_state::under_way && now() < o.until) return false;
        if (state != connecting_state::connected) {
            try_again(o);
            return false;
        }
        if (o.purpose == rendezvous && !acceptor_.is_open())
            listen_on(
                options_.bind.empty() ? o.socket()->local_address() : resolve(*io_, options_.bind),
                0);
        o.say(wire::written_hello(own_hello(o.purpose)));
        o.at = stage::welcome_due;
        return true;
    }

    /// Its process has not begun to listen, or its queue is full: the deadline is that of all.
    void try_again(tcp_opening& o) const noexcept { o.rest(now() + std::chrono::milliseconds(20)); }

    wire::hello own_hello(wire::connection_purpose purpose) const {
        wire::hello h;
        h.purpose = purpose;
        h.rank = static_cast<std::uint32_t>(options_.rank);
        h.world = static_cast<std::uint32_t>(options_.size);
        h.incarnation = made_.incarnations[own()];
        h.job = digest_of(options_.job);
        h.agreed = {static_cast<std::uint64_t>(options_.heartbeat.count()),
                    static_cast<std::uint64_t>(options_.dead_after.count()),
                    static_cast<std::uint64_t>(options_.timeout.count()),
                    static_cast<std::uint64_t>(options_.budget), digest_of(options_.configuration)};
        if (acceptor_.is_open()) h.listens = to_wire(acceptor_.local_endpoint());
        return h;
    }

    std::size_t due(const tcp_opening& o) const noexcept {
        switch (o.at) {
            case stage::hello_due: return wire::hello_bytes;
            case stage::table_due: return wire::rank_table_bytes(index(options_.size));
            default: return wire::welcome_bytes;
        }
    }

    bool take(tcp_opening& o, const bytes& whole) {
        switch (o.at) {
            case stage::hello_due: return greet(o, wire::read_hello(whole.data()));
            case stage::welcome_due: return be_greeted(o, wire::read_welcome(whole.data()));
            case stage::table_due: return meet_all(o, whole);
            default: return hear_word(o, wire::read_welcome(whole.data()));
        }
    }

    /// A connection ended before its time. Strangers may; ranks may not.
    bool lost(tcp_opening& o, const std::string& how) {
        if (o.at == stage::hello_due) return false;
        if (o.at == stage::welcome_due) {
            try_again(o);
            return true;
        }
        if (options_.rank == 0) lose(o.peer, how);
        throw peer_failure(0, how, {.phase = "rendezvous"});
    }

    bool greet(tcp_opening& o, const result<wire::hello>& said) {
        if (!said) return false;  // a stranger
        wire::welcome answer = judge(*said, own_hello(said->purpose));
        const int peer = static_cast<int>(said->rank);
        if (answer.why == wire::refusal::none) answer = admit(*said, answer);
        o.say(wire::written_welcome(answer));
        if (answer.why != wire::refusal::none) {
            o.closes = true;
            return !o.flush() && o.has_output();
        }
        o.peer = peer;
        o.purpose = said->purpose;
        made_.incarnations[index(peer)] = said->incarnation;
        if (o.purpose == rendezvous) {
            places_[index(peer)] = said->listens;
            o.at = stage::parked;
            return true;
        }
        if (o.flush() || o.has_output()) return false;  // it will try again
        place_of(o) = o.taken_over();
        return false;
    }

    /// Whether the connection is one that this rank waits for.
    wire::welcome admit(const wire::hello& said, wire::welcome answer) {
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
        return answer;
    }

    std::unique_ptr<tcp_socket>& place_of(const tcp_opening& o) noexcept {
        return (o.purpose == data ? made_.data : made_.control)[index(o.peer)];
    }

    bool be_greeted(tcp_opening& o, const result<wire::welcome>& said) {
        if (!said)
            throw malformed("tcp: the answer of " + o.place().address().to_string() + " port " +
                                std::to_string(o.place().port()),
                            said.why());
        if (said->why != wire::refusal::none) raise(*said, options_.rank, options_.job);
        made_.incarnations[index(o.peer)] = said->incarnation;
        if (o.purpose == rendezvous) {
            o.at = stage::table_due;
            return true;
        }
        place_of(o) = o.taken_over();
        return false;
    }

    bool meet_all(tcp_opening& o, const bytes& table) {
        const auto places = wire::read_rank_table(table, index(options_.size));
        if (!places) {
            // In its place came the word that somebody is missing.
            const auto word = wire::read_welcome(table.data());
            if (word && word->why != wire::refusal::none) raise(*word, options_.rank, options_.job);
            throw malformed("tcp: what rank 0 sent", places.why());
        }
        openings_.push_back(tcp_opening::to(meeting_, 0, data));
        for (int lower = 1; lower < options_.rank; ++lower)
            for (const auto purpose : {control, data})
                openings_.push_back(
                    tcp_opening::to(from_wire((*places)[index(lower)]), lower, purpose));
        o.at = stage::parked;
        return true;
    }

    /// "Ready" to rank 0; from it "go", or who was lost.
    bool hear_word(tcp_opening& o, const result<wire::welcome>& said) {
        if (options_.rank == 0) {
            if (!said) lose(o.peer, "it sent what is no word: " + said.why().text());
            ready_[index(o.peer)] = true;
            return true;
        }
        if (!said) throw malformed("tcp: a word of rank 0", said.why());
        if (said->why != wire::refusal::none) raise(*said, options_.rank, options_.job);
        made_.control[0] = o.taken_over();
        released_ = true;
        return false;
    }

    // All together

    template <class Visitor>
    void for_each_parked(Visitor&& visit) {
        for (tcp_opening& o : openings_)
            if (o.at == stage::parked) visit(o);
    }

    /// Whether all connections are there but those to or from rank 0 that are parked.
    bool has_all() const noexcept {
        for (int rank = 0; rank < options_.size; ++rank) {
            if (rank == options_.rank) continue;
            if (!made_.data[index(rank)]) return false;
            if (rank != 0 && options_.rank != 0 && !made_.control[index(rank)]) return false;
        }
        return true;
    }

    /// Rank 0.
    void lead() {
        if (!answers_until_) {
            int parked = 0;
            for_each_parked([&](const tcp_opening&) { ++parked; });
            if (parked < options_.size - 1) return;
            const bytes table = wire::written_rank_table(places_);
            for_each_parked([&](tcp_opening& o) { o.say(table); });
            // They are all there: now whoever is silent is dead.
            const bool judges = options_.dead_after > duration::zero();
            answers_until_ = now() + (judges ? options_.dead_after : options_.join);
            deadline_ = *answers_until_ + options_.join;
        }
        const auto silent = std::find(ready_.begin(), ready_.end(), false);
        if (silent == ready_.end() && has_all()) return release();
        if (now() >= *answers_until_ && silent != ready_.end())
            lose(static_cast<int>(silent - ready_.begin()),
                 "no sign of life from it since all ranks were there");
    }

    void release() {
        const auto go = wire::written_welcome({});
        for_each_parked([&](tcp_opening& o) {
            o.say(go);
            if (const auto why = o.flush()) lose(o.peer, *why);
            place_of(o) = o.taken_over();
        });
        released_ = true;
    }

    /// The others.
    void follow() {
        if (said_ready_ || !has_all()) return;
        for_each_parked([&](tcp_opening& o) {
            o.say(wire::written_welcome({.rank = static_cast<std::uint32_t>(options_.rank)}));
            said_ready_ = true;
            (void)o.flush();  // what fails now is read by the next step
        });
    }

    /// A rank that had come is gone.
    [[noreturn]] void lose(int rank, const std::string& how) {
        tell({.why = wire::refusal::lost, .ours = static_cast<std::uint64_t>(rank)});
        throw peer_failure(rank, how, {.phase = "rendezvous"});
    }

    void tell(const wire::welcome& word) {
        const auto said = wire::written_welcome(word);
        const std::size_t table = wire::rank_table_bytes(index(options_.size));
        for_each_parked([&](tcp_opening& o) {
            o.say(said);
            // Who still waits for the table takes as many bytes as that has.
            if (!answers_until_ && table > said.size()) o.say(bytes(table - said.size()));
            (void)o.flush();
        });
    }

    [[noreturn]] void give_up() {
        std::string waited;
        append_number(waited, in_seconds(options_.join));
        waited += " s; tcp_options::join sets the limit";
        if (options_.rank != 0)
            throw error(errc::timed_out, "tcp: rank " + std::to_string(options_.rank) +
                                             " waited for rank 0 at " + options_.address +
                                             " port " + std::to_string(options_.port) + " for " +
                                             waited);
        std::string list;
        std::uint64_t first = 0, absent = 0;
        for (int rank = options_.size - 1; rank > 0; --rank) {
            if (made_.incarnations[index(rank)] != 0) continue;
            list = std::to_string(rank) + (list.empty() ? "" : ", ") + list;
            first = static_cast<std::uint64_t>(rank);
            ++absent;
        }
        tell({.why = wire::refusal::absent, .ours = first, .theirs = absent});
        throw error(errc::timed_out, "tcp: " + std::to_string(absent) + " of " +
                                         std::to_string(options_.size) + " ranks, " + list +
                                         ", did not come within " + waited);
    }

    asio::io_context* io_;
    tcp_options options_;
    tcp::acceptor acceptor_;
    tcp::endpoint meeting_;  // where rank 0 is
    time_point deadline_{};
    std::optional<time_point> answers_until_;    // rank 0: since all are there
    std::vector<wire::listening_place> places_;  // rank 0: of all
    std::vector<bool> ready_;                    // rank 0: who has all its connections
    bool said_ready_ = false;
    bool released_ = false;
    std::list<tcp_opening> openings_;
    std::vector<pollfd> waits_;
    tcp_connections made_;
};

}  // namespace sotto::detail::net
