#pragma once

#include <cstddef>
#include <cstdint>
#include <list>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "sotto/core/bytes.hpp"
#include "sotto/core/clock.hpp"
#include "sotto/core/deadline.hpp"
#include "sotto/transports/detail/tcp/tcp_socket.hpp"
#include "sotto/transports/tcp_options.hpp"
#include "sotto/wire/detail/protocols/hello.hpp"

namespace sotto::detail::net {

/// Whether bytes may be the start of a hello.
bool is_start_of_hello(byte_view first) noexcept;

/// Whether bytes are the start of a handshake of TLS: a record of type 22 and of version 3.
bool is_start_of_tls(byte_view first) noexcept;

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
                          wire::connection_purpose purpose);

    /// From whoever it is.
    static tcp_opening from(std::unique_ptr<tcp_socket> socket, std::string address, stage first,
                            const deadline& limit);

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
    std::size_t due(std::size_t ranks) const noexcept;

    std::unique_ptr<tcp_socket> taken_over() noexcept;

    /// Starts an attempt; where no descriptor is free, the next one is in 100 ms.
    void connect(const tcp_context& context, time_point now, duration most);

    void rest(time_point till) noexcept;

    void say(byte_view what) { out_.insert(out_.end(), what.begin(), what.end()); }

    /// Sends what was said, as far as it goes; how it failed, if it did.
    std::optional<std::string> flush();

    /// Reads up to `due` bytes; all of them once they are there. `lost`: how the connection ended.
    std::optional<bytes> read(std::size_t due, std::optional<std::string>& lost);

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

std::string described(const asio::ip::tcp::endpoint& place);

/// That a rank could not be reached is not its fault where this process had no socket left.
///   errors  io_failure: it had none
void require_sockets(const std::list<tcp_opening>& openings, std::optional<int> peer,
                     const tcp_options& options);

/// Those who came and never said who they are.
class seen_strangers {
public:
    void add(const std::string& address);
    /// Why one of them was turned away.
    void note(const std::string& why) { why_ = why; }

    /// Empty if there were none.
    std::string described(const tcp_options& options) const;

private:
    std::int64_t count_ = 0;
    std::string last_, why_;
};

/// What it may mean that rank 0 ends a connection, or says nothing, before it has greeted.
std::string why_not_greeted(const tcp_options& options);

/// How the attempts to be greeted failed.
class failed_tries {
public:
    void unanswered(std::string how) { last_ = std::move(how); }
    void ended(std::string how) { answered_ = std::move(how); }
    void not_greeted(std::string how);

    /// Empty if there were none. What somebody answered tells more.
    std::string described() const;

private:
    std::string last_, answered_;
};

/// Strangers may hold only so many connections, and one address not all of them: the oldest goes.
void make_room_for_stranger(std::list<tcp_opening>& openings, const std::string& address,
                            int world);

}  // namespace sotto::detail::net

#ifndef SOTTO_SEPARATE_COMPILATION
#include "sotto/transports/detail/tcp/tcp_opening.ipp"
#endif
