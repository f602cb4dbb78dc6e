#pragma once

// Boost.Asio of 1.74 to 1.81 uses std::exchange without this under g++ 12.
#include <utility>

#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>

#include <array>
#include <boost/asio/buffer.hpp>
#include <cerrno>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "sotto/core/bytes.hpp"
#include "sotto/core/clock.hpp"

namespace sotto::detail::net {

namespace asio = boost::asio;

/// How an attempt to move bytes ended.
struct moved {
    std::size_t bytes = 0;
    bool closed = false;  // the peer has ended its side, or the connection is lost
    std::string why{};    // closed: how
};

enum class connecting_state : unsigned char { under_way, connected, refused };

/// A connection that never blocks.
class tcp_socket {
public:
    explicit tcp_socket(asio::ip::tcp::socket socket) : socket_(std::move(socket)) {
        boost::system::error_code ignored;
        socket_.non_blocking(true, ignored);
        socket_.set_option(asio::ip::tcp::no_delay(true), ignored);
        ::fcntl(socket_.native_handle(), F_SETFD, FD_CLOEXEC);
    }

    int handle() { return socket_.native_handle(); }
    bool is_open() const noexcept { return socket_.is_open(); }

    void start_connecting(const asio::ip::tcp::endpoint& to) {
        if (::connect(handle(), to.data(), static_cast<socklen_t>(to.size())) != 0 &&
            errno != EINPROGRESS)
            refused_ = true;
    }

    connecting_state connecting() {
        if (refused_) return connecting_state::refused;
        pollfd ready{handle(), POLLOUT, 0};
        if (::poll(&ready, 1, 0) == 0) return connecting_state::under_way;
        int why = 0;
        socklen_t size = sizeof why;
        ::getsockopt(handle(), SOL_SOCKET, SO_ERROR, &why, &size);
        return why == 0 ? connecting_state::connected : connecting_state::refused;
    }

    asio::ip::address local_address() const {
        boost::system::error_code ignored;
        return socket_.local_endpoint(ignored).address();
    }

    moved read(std::span<const mutable_byte_view> into) {
        buffers_in_.clear();
        for (const mutable_byte_view piece : into)
            if (!piece.empty()) buffers_in_.emplace_back(piece.data(), piece.size());
        boost::system::error_code why;
        const std::size_t count = socket_.read_some(buffers_in_, why);
        return outcome(count, why);
    }

    moved write(std::span<const byte_view> from) {
        buffers_out_.clear();
        for (const byte_view piece : from) buffers_out_.emplace_back(piece.data(), piece.size());
        boost::system::error_code why;
        const std::size_t count = socket_.write_some(buffers_out_, why);
        return outcome(count, why);
    }

    /// Says that nothing more will come from here, and closes. What was written still arrives:
    /// what has come in is read first, since a system that closes on unread bytes resets.
    void close() noexcept {
        if (!socket_.is_open()) return;
        boost::system::error_code why;
        socket_.shutdown(asio::ip::tcp::socket::shutdown_send, why);
        std::array<std::byte, 16384> dropped;
        while (!why) socket_.read_some(asio::buffer(dropped), why);
        socket_.close(why);
    }

private:
    static moved outcome(std::size_t count, const boost::system::error_code& why) {
        if (!why) return {count};
        if (why == asio::error::would_block || why == asio::error::try_again ||
            why == asio::error::interrupted)
            return {};
        if (why == asio::error::eof) return {0, true, "it closed the connection"};
        return {0, true, "the connection broke: " + why.message()};
    }

    asio::ip::tcp::socket socket_;
    bool refused_ = false;
    std::vector<asio::mutable_buffer> buffers_in_;
    std::vector<asio::const_buffer> buffers_out_;
};

}  // namespace sotto::detail::net
