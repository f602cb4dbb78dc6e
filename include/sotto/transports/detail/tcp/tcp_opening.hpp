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

/// True if bytes may be the start of a hello.
bool is_start_of_hello(byte_view first) noexcept;

/// True if bytes are the start of a TLS handshake: a record of type 22 and of version 3.
bool is_start_of_tls(byte_view first) noexcept;

/// A connection during its handshake. Each side sends a few messages of known length, and reads no
/// byte beyond them.
class tcp_opening {
public:
    enum class stage : std::uint8_t {
        resting,      // ours, before the next attempt
        connecting,   // ours
        knock_due,    // a stranger's: the first bytes, if connections are kept secret
        hello_due,    // a stranger's
        welcome_due,  // ours
        table_due,    // ours, to rank 0, which has announced the table
        parked,       // between rank 0 and another rank, which exchange messages
        done,         // its socket is taken over
    };

    /// Opening to another rank.
    static tcp_opening to(const asio::ip::tcp::endpoint& place, int peer,
                          wire::connection_purpose purpose);

    /// Opening from a stranger.
    static tcp_opening from(std::unique_ptr<tcp_socket> socket, std::string address, stage first,
                            const deadline& limit);

    stage at = stage::resting;
    int peer = -1;
    wire::connection_purpose purpose = wire::connection_purpose::data;
    std::string address{};  // address of a stranger
    time_point until{};     // end of resting
    deadline limit{};       // limit of connecting, knock_due, hello_due and closing
    bool closes = false;    // it ends once all is sent

    const asio::ip::tcp::endpoint& place() const noexcept { return place_; }
    /// Uses another place, from the next attempt on.
    void look_at(const asio::ip::tcp::endpoint& place) noexcept { place_ = place; }
    tcp_socket* socket() const noexcept { return socket_.get(); }
    /// Why the system gave no socket for the last attempt; empty if it did.
    const std::string& no_socket() const noexcept { return no_socket_; }
    bool has_output() const noexcept { return !out_.empty(); }
    byte_view output() const noexcept { return out_; }
    bool is_stranger() const noexcept { return at == stage::knock_due || at == stage::hello_due; }

    /// Size of the next message, in a job of this many ranks.
    std::size_t due(std::size_t ranks) const noexcept;

    std::unique_ptr<tcp_socket> taken_over() noexcept;

    /// Starts an attempt. If no descriptor is free, the next attempt is in 100 ms.
    void connect(const tcp_context& context, time_point now, duration most);

    void rest(time_point till) noexcept;

    void say(byte_view what) { out_.insert(out_.end(), what.begin(), what.end()); }

    /// Sends as much of the queued data as possible. Returns how it failed, if it did.
    std::optional<std::string> flush();

    /// Reads up to `due` bytes, and returns all of them once they are there. `lost`: how the
    /// connection ended.
    std::optional<bytes> read(std::size_t due, std::optional<std::string>& lost);

    /// True if the bytes read so far may be the start of a hello.
    bool may_become_hello() const noexcept { return is_start_of_hello(in_); }
    /// Bytes read so far of the next message.
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

/// Throws if a rank could not be reached because this process had no socket left.
///   errors  io_failure: it had none
void require_sockets(const std::list<tcp_opening>& openings, std::optional<int> peer,
                     const tcp_options& options);

/// Connections that never identified their rank.
class seen_strangers {
public:
    void add(const std::string& address);
    /// Notes why a connection was turned away.
    void note(const std::string& why) { why_ = why; }

    /// Error text; empty if there were none.
    std::string described(const tcp_options& options) const;

private:
    std::int64_t count_ = 0;
    std::string last_, why_;
};

/// Possible causes if rank 0 ends a connection, or sends nothing, before it greets.
std::string why_not_greeted(const tcp_options& options);

/// How the attempts to be greeted failed.
class failed_tries {
public:
    void unanswered(std::string how) { last_ = std::move(how); }
    void ended(std::string how) { answered_ = std::move(how); }
    void not_greeted(std::string how);

    /// Error text; empty if there were none. An attempt that was answered is preferred.
    std::string described() const;

private:
    std::string last_, answered_;
};

/// Limits the connections that strangers may hold, in all and from one address: removes the oldest.
void make_room_for_stranger(std::list<tcp_opening>& openings, const std::string& address,
                            int world);

}  // namespace sotto::detail::net

#ifndef SOTTO_SEPARATE_COMPILATION
#include "sotto/transports/detail/tcp/tcp_opening.ipp"
#endif
