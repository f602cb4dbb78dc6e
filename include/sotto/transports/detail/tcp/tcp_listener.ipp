#pragma once

#include "sotto/transports/detail/tcp/tcp_listener.hpp"

#include <cstdio>
#include <string>

#include "sotto/core/config.hpp"
#include "sotto/core/detail/text/print_line.hpp"
#include "sotto/core/errors.hpp"

namespace sotto::detail::net {

SOTTO_DECL void tcp_listener::open(int rank, const asio::ip::tcp::endpoint& at) {
    boost::system::error_code why =
        take(open_socket(at.protocol().family(), at.protocol().type(), at.protocol().protocol()),
             at.protocol());
    if (!why) acceptor_.set_option(asio::ip::tcp::acceptor::reuse_address(true), why);
    if (!why) acceptor_.bind(at, why);
    if (!why) acceptor_.listen(waiting_max, why);
    if (!why) acceptor_.non_blocking(true, why);
    if (why) {
        boost::system::error_code ignored;
        acceptor_.close(ignored);
        throw io_failure("tcp: rank " + std::to_string(rank) + " cannot listen on " +
                         at.address().to_string() + " port " + std::to_string(at.port()) + ": " +
                         why.message());
    }
}

SOTTO_DECL void tcp_listener::adopt(int rank, int handle) {
    const std::string which = "tcp: listener of rank " + std::to_string(rank) + " is descriptor " +
                              std::to_string(handle) + ", which ";
    int listens = 0;
    socklen_t size = sizeof listens;
    sockaddr_storage at{};
    socklen_t length = sizeof at;
    if (::getsockopt(handle, SOL_SOCKET, SO_ACCEPTCONN, &listens, &size) != 0 || !listens ||
        ::getsockname(handle, reinterpret_cast<sockaddr*>(&at), &length) != 0 ||
        (at.ss_family != AF_INET && at.ss_family != AF_INET6))
        throw invalid_option(which + "is not a socket that listens for TCP");
    boost::system::error_code why =
        take(above_standard(descriptor(handle)), protocol_of(at.ss_family));
    if (!why) acceptor_.non_blocking(true, why);
    if (why) throw io_failure(which + "cannot be used: " + why.message());
    ::fcntl(acceptor_.native_handle(), F_SETFD, FD_CLOEXEC);
}

SOTTO_DECL void tcp_listener::close() noexcept {
    boost::system::error_code ignored;
    acceptor_.close(ignored);
}

SOTTO_DECL asio::ip::tcp::endpoint tcp_listener::place() const {
    boost::system::error_code ignored;
    return acceptor_.local_endpoint(ignored);
}

SOTTO_DECL void tcp_listener::warn_of_strangers() const {
    const asio::ip::tcp::endpoint at = place();
    if (at.address().is_loopback()) return;
    print_line(stderr, "sotto: tcp_options::insecure_network: any host that reaches " +
                           at.address().to_string() + " port " + std::to_string(at.port()) +
                           " can join this job and read its messages");
}

SOTTO_DECL std::optional<pollfd> tcp_listener::waits() {
    if (!is_open() || resting()) return std::nullopt;
    return pollfd{acceptor_.native_handle(), POLLIN, 0};
}

SOTTO_DECL boost::system::error_code tcp_listener::system_code() noexcept {
    return {errno, boost::system::system_category()};
}

SOTTO_DECL bool tcp_listener::is_shortage(const boost::system::error_code& why) noexcept {
    return why.value() == EMFILE || why.value() == ENFILE || why.value() == ENOMEM ||
           why.value() == ENOBUFS || why.value() == ENOSPC;
}

SOTTO_DECL boost::system::error_code tcp_listener::take(descriptor opened,
                                                        const asio::ip::tcp& protocol) {
    boost::system::error_code why;
    if (!opened) return system_code();
    acceptor_.assign(protocol, opened.handle(), why);
    if (!why) (void)opened.release();
    return why;
}

SOTTO_DECL void tcp_listener::rest() noexcept {
    rests_until_ = std::chrono::steady_clock::now() + std::chrono::milliseconds(100);
}

SOTTO_DECL void tcp_listener::turn_one_away() noexcept {
    rest();
    if (!spare_) return;
    spare_.close();
    accept_socket(acceptor_.native_handle()).close();
    spare_ = open_spare();
}

}  // namespace sotto::detail::net
