#pragma once

#include "sotto/transports/detail/tcp/tcp_socket.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <list>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>

#include "sotto/core/bytes.hpp"
#include "sotto/core/clock.hpp"
#include "sotto/core/deadline.hpp"
#include "sotto/core/detail/files/descriptor.hpp"
#include "sotto/core/errors.hpp"
#include "sotto/transports/detail/tcp/tcp_context.hpp"
#include "sotto/transports/tcp_options.hpp"
#include "sotto/transports/detail/tcp/tcp_security.hpp"
#include "sotto/wire/detail/protocols/hello.hpp"
#include "sotto/wire/detail/protocols/rank_table.hpp"
#include "sotto/wire/detail/protocols/word.hpp"

namespace sotto::detail::net {

/// Whether bytes may be the start of a hello.
inline bool is_start_of_hello(byte_view first) noexcept {
    std::array<std::byte, 4> magic;
    wire::store_little_endian(magic.data(), wire::hello_magic);
    const std::size_t known = (std::min)(first.size(), magic.size());
    return std::equal(first.begin(), first.begin() + static_cast<std::ptrdiff_t>(known),
                      magic.begin());
}

/// Whether bytes are the start of a handshake of TLS: a record of type 22 and of version 3.
inline bool is_start_of_tls(byte_view first) noexcept {
    return first.size() >= 2 && first[0] == std::byte{22} && first[1] == std::byte{3};
}

/// A connection on its way to being one: each side says a few things of known length, and reads no
/// byte of what comes after them.
class tcp_opening {
public:
    enum class stage : std::uint8_t {
        resting,      // ours, before the next attempt
        connecting,   // ours
        knock_due,    // somebody's: the first bytes, where connections are kept secret
        hello_due,    // somebody's
        welcome_due,  // ours
        table_due,    // ours, to rank 0, which has said that it comes
        parked,       // between rank 0 and another: words go to and fro
        done,         // somebody has taken the socket over
    };

    /// To another rank.
    static tcp_opening to(const asio::ip::tcp::endpoint& place, int peer,
                          wire::connection_purpose purpose) {
        tcp_opening made;
        made.place_ = place;
        made.peer = peer;
        made.purpose = purpose;
        return made;
    }

    /// From whoever it is.
    static tcp_opening from(std::unique_ptr<tcp_socket> socket, std::string address, stage first,
                            const deadline& limit) {
        tcp_opening made;
        made.socket_ = std::move(socket);
        made.at = first;
        made.address = std::move(address);
        made.limit = limit;
        return made;
    }

    stage at = stage::resting;
    int peer = -1;
    wire::connection_purpose purpose = wire::connection_purpose::data;
    std::string address{};  // whose it is, of a stranger
    time_point until{};     // of resting
    deadline limit{};       // of connecting, knock_due, hello_due, and of what closes
    bool closes = false;    // once all is said

    const asio::ip::tcp::endpoint& place() const noexcept { return place_; }
    /// Looks for the rank elsewhere, from the next attempt on.
    void look_at(const asio::ip::tcp::endpoint& place) noexcept { place_ = place; }
    tcp_socket* socket() const noexcept { return socket_.get(); }
    /// Why the system gave none for the last attempt; empty if it did.
    const std::string& no_socket() const noexcept { return no_socket_; }
    bool has_output() const noexcept { return !out_.empty(); }
    byte_view output() const noexcept { return out_; }
    bool is_stranger() const noexcept { return at == stage::knock_due || at == stage::hello_due; }

    /// Bytes of what is to come next, in a job of so many ranks.
    std::size_t due(std::size_t ranks) const noexcept {
        switch (at) {
            case stage::knock_due: return tcp_security::first_bytes;
            case stage::hello_due: return wire::hello_bytes;
            case stage::table_due: return wire::rank_table_bytes(ranks);
            default: return wire::word_bytes;
        }
    }

    std::unique_ptr<tcp_socket> taken_over() noexcept {
        at = stage::done;
        return std::move(socket_);
    }

    /// Starts an attempt; where no descriptor is free, the next one is in 100 ms.
    void connect(const tcp_context& context, time_point now, duration most) {
        const asio::ip::tcp protocol = place_.protocol();
        descriptor opened = open_socket(protocol.family(), protocol.type(), protocol.protocol());
        boost::system::error_code why;
        if (opened)
            socket_ = std::make_unique<tcp_socket>(context, std::move(opened), protocol, why);
        else
            why.assign(errno, boost::system::system_category());
        no_socket_ = why ? why.message() : "";
        if (why) {
            socket_.reset();
            until = now + std::chrono::milliseconds(100);
            return;
        }
        socket_->start_connecting(place_);
        at = stage::connecting;
        limit = deadline(now, most);
    }

    void rest(time_point till) noexcept {
        socket_.reset();
        in_.clear();
        out_.clear();
        at = stage::resting;
        until = till;
    }

    void say(byte_view what) { out_.insert(out_.end(), what.begin(), what.end()); }

    /// Sends what was said, as far as it goes; how it failed, if it did.
    std::optional<std::string> flush() {
        while (!out_.empty()) {
            const byte_view all = out_;
            const moved sent = socket_->write(std::span(&all, 1));
            if (sent.closed) return sent.why;
            if (sent.bytes == 0) break;
            out_.erase(out_.begin(), out_.begin() + static_cast<std::ptrdiff_t>(sent.bytes));
        }
        return std::nullopt;
    }

    /// Reads up to `due` bytes; all of them once they are there. `lost`: how the connection ended.
    std::optional<bytes> read(std::size_t due, std::optional<std::string>& lost) {
        const std::size_t had = in_.size();
        in_.resize(due);
        const mutable_byte_view rest = mutable_byte_view(in_).subspan(had);
        const moved got = socket_->read(std::span(&rest, 1));
        in_.resize(had + got.bytes);
        if (got.closed) lost = got.why;
        if (in_.size() < due) return std::nullopt;
        return std::exchange(in_, {});
    }

    /// Whether what was read so far may be the start of a hello.
    bool may_become_hello() const noexcept { return is_start_of_hello(in_); }
    /// What was read so far of what is due.
    byte_view input() const noexcept { return in_; }

private:
    tcp_opening() = default;

    std::unique_ptr<tcp_socket> socket_;
    asio::ip::tcp::endpoint place_{};
    std::string no_socket_{};
    bytes in_{};
    bytes out_{};
};

inline std::string described(const asio::ip::tcp::endpoint& place) {
    return place.address().to_string() + " port " + std::to_string(place.port());
}

/// That a rank could not be reached is not its fault where this process had no socket left.
///   errors  io_failure: it had none
inline void require_sockets(const std::list<tcp_opening>& openings, std::optional<int> peer,
                            const tcp_options& options) {
    for (const tcp_opening& o : openings)
        if (peer == o.peer && !o.no_socket().empty())
            throw io_failure(
                "tcp: rank " + std::to_string(options.rank) +
                " has no socket for its connections to rank " + std::to_string(o.peer) + ": " +
                o.no_socket() + "; a job of " + std::to_string(options.size) + " ranks takes " +
                std::to_string(descriptors_needed(options)) + " descriptors at each (ulimit -n)");
}

/// Those who came and never said who they are.
class seen_strangers {
public:
    void add(const std::string& address) {
        ++count_;
        last_ = address;
    }
    /// Why one of them was turned away.
    void note(const std::string& why) { why_ = why; }

    /// Empty if there were none.
    std::string described(const tcp_options& options) const {
        if (count_ == 0) return {};
        return "; " + std::to_string(count_) + (count_ == 1 ? " connection" : " connections") +
               ", the last from " + last_ + ", did not say of which rank" +
               (options.security ? ", or had another secret or tcp_options::job" : "") +
               (why_.empty() ? "" : "; one was turned away: " + why_);
    }

private:
    std::int64_t count_ = 0;
    std::string last_, why_;
};

/// What it may mean that rank 0 ends a connection, or says nothing, before it has greeted.
inline std::string why_not_greeted(const tcp_options& options) {
    const std::string secret =
        options.security ? "has another secret or tcp_options::job, or no secret"
        : must_be_of_one_user(options)
            ? "wants a secret, which this rank has none of (tcp_options::security), or is a "
              "process of another user"
            : "wants a secret, which this rank has none of (tcp_options::security)";
    return "; perhaps rank 0 " + secret + ", or ended or hangs, or no rank listens there";
}

/// How the attempts to be greeted failed.
class failed_tries {
public:
    void unanswered(std::string how) { last_ = std::move(how); }
    void ended(std::string how) { answered_ = std::move(how); }
    void not_greeted(std::string how) {
        if (answered_.empty()) answered_ = std::move(how);
    }

    /// Empty if there were none. What somebody answered tells more.
    std::string described() const {
        if (!answered_.empty()) return "; its last attempt that was answered: " + answered_;
        return last_.empty() ? "" : "; its last attempt: " + last_;
    }

private:
    std::string last_, answered_;
};

/// Strangers may hold only so many connections, and one address not all of them: the oldest goes.
inline void make_room_for_stranger(std::list<tcp_opening>& openings, const std::string& address,
                                   int world) {
    const auto drop_oldest = [&](auto is_one, int most) {
        if (std::count_if(openings.begin(), openings.end(), is_one) >= most)
            openings.erase(std::find_if(openings.begin(), openings.end(), is_one));
    };
    drop_oldest([](const tcp_opening& o) { return o.is_stranger(); }, 2 * world + 16);
    drop_oldest([&](const tcp_opening& o) { return o.is_stranger() && o.address == address; },
                world + 8);
}

}  // namespace sotto::detail::net
