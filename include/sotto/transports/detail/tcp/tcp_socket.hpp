#pragma once

// Boost.Asio of 1.74 to 1.81 uses std::exchange without this under g++ 12.

#include <poll.h>
#include <time.h>

#include <boost/asio/buffer.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "sotto/core/bytes.hpp"
#include "sotto/core/clock.hpp"
#include "sotto/core/deadline.hpp"
#include "sotto/core/detail/files/descriptor.hpp"
#include "sotto/transports/detail/messaging/liveness.hpp"
#include "sotto/transports/detail/tcp/tcp_security.hpp"

namespace sotto::detail::net {

namespace asio = boost::asio;

/// TCP_INFO as Linux writes it. The C library's `tcp_info` lacks the end.
struct whole_tcp_info {
    std::uint8_t state, congestion, retransmits, probes, backoff, options, scales, limits;
    std::uint32_t rto, ato, snd_mss, rcv_mss, unacked, sacked, lost, retrans, fackets;
    std::uint32_t last_data_sent, last_ack_sent, last_data_recv, last_ack_recv;
    std::uint32_t pmtu, rcv_ssthresh, rtt, rttvar, snd_ssthresh, snd_cwnd, advmss, reordering;
    std::uint32_t rcv_rtt, rcv_space, total_retrans;
    std::uint64_t pacing_rate, max_pacing_rate, bytes_acked, bytes_received;
    std::uint32_t segs_out, segs_in, notsent_bytes, min_rtt, data_segs_in, data_segs_out;
};
static_assert(offsetof(whole_tcp_info, rtt) == 68 && offsetof(whole_tcp_info, bytes_acked) == 120 &&
              offsetof(whole_tcp_info, data_segs_in) == 152);

/// Facts of the system about a connection; zeros if it reports none.
whole_tcp_info tcp_info_of(int handle) noexcept;

/// Facts of the system about the connections to a rank: the one for control frames, and the one for
/// messages if `messages` is set.
path_facts path_of(int words, std::optional<int> messages = {}) noexcept;

enum class connecting_state : unsigned char { pending, connected, refused };

/// Context of all sockets of a rank; see open_context. Each socket shares ownership, so the context
/// outlives its sockets in any order of destruction.
using tcp_context = std::shared_ptr<asio::io_context>;

/// Protocol of an address that the system reports for a socket.
asio::ip::tcp protocol_of(int family) noexcept;

/// A connection that never blocks.
class tcp_socket {
public:
    /// Takes over a socket that the system opened.
    ///   errors  `why`: the context has no room for it; the socket is then closed
    tcp_socket(tcp_context context, descriptor opened, asio::ip::tcp protocol,
               boost::system::error_code& why);

    int handle() { return socket_.native_handle(); }
    bool is_open() const noexcept { return socket_.is_open(); }

    void start_connecting(const asio::ip::tcp::endpoint& to);

    connecting_state connecting();

    /// For messages between processes of one machine. Nothing is congested there, and a congestion
    /// control that paces output (BBR) would halve the rate.
    void hurry_within_machine() noexcept;

    /// For signs of life. Lost data is first sent again at a constant interval, which does not
    /// double each time. With doubling, a link that was down for 1.6 s would be used again only
    /// after 3 s.
    void resend_steadily() noexcept;

    asio::ip::tcp::endpoint local_place() const;
    /// Nothing once the connection was reset.
    std::optional<asio::ip::tcp::endpoint> remote_place() const;
    asio::ip::address local_address() const { return local_place().address(); }

    /// From here on all bytes pass through `session`.
    void secure(std::unique_ptr<detail::net::secure_session> session) noexcept;
    const detail::net::secure_session* secret() const noexcept { return secret_.get(); }

    /// Events for poll(2) to wait for.
    short interest(bool has_output) const noexcept;

    /// The same if arriving data need not be noticed at once, but the end of the connection must
    /// be. So a sender does not wake a thread of the receiver, which would run in its place on a
    /// busy machine.
    short calm_interest(bool has_output) const noexcept;
    /// Jobs of more ranks use calm_interest for signs of life: of 16 ranks, one arrives every 16
    /// ms.
    static constexpr std::size_t crowd = 16;

    /// Fills `into` with the available bytes. Less than its size means that no more were there, or
    /// that poll(2) will report the others.
    moved read(std::span<const mutable_byte_view> into);

    moved write(std::span<const byte_view> from);

    // The end

    /// Ends the output of this side.
    void end_output() noexcept;

    /// After end_output: true if the peer's system has all written data, or wants none of it. Drops
    /// received data, so that the peer can end its side.
    bool all_arrived() noexcept;

    void close() noexcept;

private:
    /// True if the socket is connected to itself. This can happen on a port of the range from which
    /// the system also assigns ports to connecting sockets, while no process listens there.
    bool to_itself() const;

    static moved outcome(std::size_t count, const boost::system::error_code& why);

    static constexpr std::size_t pieces_max = 16;

    tcp_context context_;  // before its socket
    asio::ip::tcp::socket socket_;
    bool refused_ = false;
    std::unique_ptr<detail::net::secure_session> secret_;
    std::vector<asio::mutable_buffer> buffers_in_;
    std::vector<asio::const_buffer> buffers_out_;
};

/// Calls poll(2) for at most `most`.
void wait_for_any(std::span<pollfd> of, duration most) noexcept;

/// Closes connections once all written data has arrived, so that the last frames of a leaving rank
/// are received. A system that closes with unsent or unread bytes may drop them. Closes at once if
/// `worthwhile` returns false.
template <class Worthwhile>
void close_when_heard(std::span<const std::unique_ptr<tcp_socket>> sockets, duration most,
                      Worthwhile worthwhile) noexcept {
    deadline limit(std::chrono::steady_clock::now(), most);
    for (const auto& s : sockets)
        if (s && s->is_open()) s->end_output();
    while (true) {
        bool all = true;
        for (const auto& s : sockets) {
            if (!s || !s->is_open()) continue;
            if (s->all_arrived())
                s->close();
            else
                all = false;
        }
        if (all || !worthwhile() || limit.passed(std::chrono::steady_clock::now())) break;
        wait_for_any({}, std::chrono::milliseconds(1));
    }
    for (const auto& s : sockets)
        if (s) s->close();
}

void close_when_heard(std::span<const std::unique_ptr<tcp_socket>> sockets, duration most) noexcept;

}  // namespace sotto::detail::net

#ifndef SOTTO_SEPARATE_COMPILATION
#include "sotto/transports/detail/tcp/tcp_socket.ipp"
#endif
