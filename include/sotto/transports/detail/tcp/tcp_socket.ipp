#pragma once

#include "sotto/transports/detail/tcp/tcp_socket.hpp"

#include <linux/sockios.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <string>
#include <utility>

#include "sotto/core/config.hpp"

namespace sotto::detail::net {

SOTTO_DECL whole_tcp_info tcp_info_of(int handle) noexcept {
    whole_tcp_info known{};
    socklen_t size = sizeof known;
    if (::getsockopt(handle, IPPROTO_TCP, TCP_INFO, &known, &size) != 0) return {};
    return known;
}

SOTTO_DECL path_facts path_of(int words, std::optional<int> messages) noexcept {
    using microseconds = std::chrono::microseconds;
    const whole_tcp_info one = tcp_info_of(words);
    const whole_tcp_info other = messages ? tcp_info_of(*messages) : whole_tcp_info{};
    return {.segments = std::uint64_t{one.data_segs_in} + other.data_segs_in,
            .round_trip = microseconds((std::max)(one.rtt, other.rtt)),
            .retransmission = microseconds(one.retransmits > 0 ? one.rto : 0),
            .is_acknowledged = one.unacked == 0};
}

SOTTO_DECL asio::ip::tcp protocol_of(int family) noexcept {
    return family == AF_INET6 ? asio::ip::tcp::v6() : asio::ip::tcp::v4();
}

SOTTO_DECL tcp_socket::tcp_socket(tcp_context context, descriptor opened, asio::ip::tcp protocol,
                                  boost::system::error_code& why)
    : context_(std::move(context)), socket_(*context_) {
    buffers_in_.reserve(pieces_max);  // reading and writing allocate no memory
    buffers_out_.reserve(pieces_max);
    socket_.assign(protocol, opened.handle(), why);
    if (why) return;
    (void)opened.release();
    boost::system::error_code ignored;
    socket_.non_blocking(true, ignored);
    socket_.set_option(asio::ip::tcp::no_delay(true), ignored);
}

SOTTO_DECL void tcp_socket::start_connecting(const asio::ip::tcp::endpoint& to) {
    if (::connect(handle(), to.data(), static_cast<socklen_t>(to.size())) != 0 &&
        errno != EINPROGRESS)
        refused_ = true;
}

SOTTO_DECL connecting_state tcp_socket::connecting() {
    if (refused_) return connecting_state::refused;
    pollfd ready{handle(), POLLOUT, 0};
    if (::poll(&ready, 1, 0) == 0) return connecting_state::pending;
    int why = 0;
    socklen_t size = sizeof why;
    ::getsockopt(handle(), SOL_SOCKET, SO_ERROR, &why, &size);
    return why == 0 && !to_itself() ? connecting_state::connected : connecting_state::refused;
}

SOTTO_DECL void tcp_socket::hurry_within_machine() noexcept {
    boost::system::error_code why;
    const auto here = socket_.local_endpoint(why).address();
    if (why || here != socket_.remote_endpoint(why).address() || why) return;
    ::setsockopt(handle(), IPPROTO_TCP, TCP_CONGESTION, "reno", 4);
}

SOTTO_DECL void tcp_socket::resend_steadily() noexcept {
    const int yes = 1;
    ::setsockopt(handle(), IPPROTO_TCP, TCP_THIN_LINEAR_TIMEOUTS, &yes, sizeof yes);
}

SOTTO_DECL asio::ip::tcp::endpoint tcp_socket::local_place() const {
    boost::system::error_code ignored;
    return socket_.local_endpoint(ignored);
}

SOTTO_DECL std::optional<asio::ip::tcp::endpoint> tcp_socket::remote_place() const {
    boost::system::error_code why;
    const auto place = socket_.remote_endpoint(why);
    return why ? std::nullopt : std::optional(place);
}

SOTTO_DECL void tcp_socket::secure(std::unique_ptr<detail::net::secure_session> session) noexcept {
    secret_ = std::move(session);
}

SOTTO_DECL short tcp_socket::interest(bool has_output) const noexcept {
    const bool writes = has_output && !(secret_ && secret_->write_waits_for_input());
    return static_cast<short>(writes ? POLLIN | POLLOUT : POLLIN);
}

SOTTO_DECL short tcp_socket::calm_interest(bool has_output) const noexcept {
    return static_cast<short>((interest(has_output) & ~POLLIN) | POLLRDHUP);
}

SOTTO_DECL moved tcp_socket::read(std::span<const mutable_byte_view> into) {
    if (secret_) return secret_->read(into);
    buffers_in_.clear();
    for (const mutable_byte_view piece : into)
        if (!piece.empty()) buffers_in_.emplace_back(piece.data(), piece.size());
    boost::system::error_code why;
    const std::size_t count = socket_.read_some(buffers_in_, why);
    return outcome(count, why);
}

SOTTO_DECL moved tcp_socket::write(std::span<const byte_view> from) {
    if (secret_) return secret_->write(from);
    buffers_out_.clear();
    for (const byte_view piece : from) buffers_out_.emplace_back(piece.data(), piece.size());
    boost::system::error_code why;
    const std::size_t count = socket_.write_some(buffers_out_, why);
    return outcome(count, why);
}

SOTTO_DECL void tcp_socket::end_output() noexcept {
    boost::system::error_code ignored;
    socket_.shutdown(asio::ip::tcp::socket::shutdown_send, ignored);
}

SOTTO_DECL bool tcp_socket::all_arrived() noexcept {
    std::array<std::byte, 16384> dropped;
    boost::system::error_code why;
    for (int turns = 0; turns < 64 && !why; ++turns) socket_.read_some(asio::buffer(dropped), why);
    if (why && why != asio::error::would_block && why != asio::error::interrupted) return true;
    int waiting = 0;
    return ::ioctl(handle(), SIOCOUTQ, &waiting) != 0 || waiting == 0;
}

SOTTO_DECL void tcp_socket::close() noexcept {
    boost::system::error_code ignored;
    socket_.close(ignored);
}

SOTTO_DECL bool tcp_socket::to_itself() const {
    boost::system::error_code ignored;
    return socket_.local_endpoint(ignored) == socket_.remote_endpoint(ignored);
}

SOTTO_DECL moved tcp_socket::outcome(std::size_t count, const boost::system::error_code& why) {
    if (!why) return {count};
    if (why == asio::error::would_block || why == asio::error::try_again ||
        why == asio::error::interrupted)
        return {};
    if (why == asio::error::eof) return {0, true, "it closed the connection"};
    return {0, true, "the connection broke: " + why.message()};
}

SOTTO_DECL void wait_for_any(std::span<pollfd> of, duration most) noexcept {
    most = (std::max)(most, duration::zero());
    const timespec time{
        static_cast<std::time_t>(std::chrono::duration_cast<std::chrono::seconds>(most).count()),
        static_cast<long>((most % std::chrono::seconds(1)).count())};
    ::ppoll(of.data(), of.size(), &time, nullptr);
}

SOTTO_DECL void close_when_heard(std::span<const std::unique_ptr<tcp_socket>> sockets,
                                 duration most) noexcept {
    close_when_heard(sockets, most, [] { return true; });
}

}  // namespace sotto::detail::net
