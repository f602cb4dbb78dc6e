#pragma once

#include "sotto/transports/detail/tcp/tcp_opening.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <span>

#include "sotto/core/config.hpp"
#include "sotto/core/detail/files/descriptor.hpp"
#include "sotto/core/errors.hpp"
#include "sotto/transports/detail/tcp/tcp_context.hpp"
#include "sotto/transports/detail/tcp/tcp_security.hpp"
#include "sotto/wire/detail/protocols/rank_table.hpp"
#include "sotto/wire/detail/protocols/rendezvous_message.hpp"

namespace sotto::detail::net {

SOTTO_DECL bool is_start_of_hello(byte_view first) noexcept {
    std::array<std::byte, 4> magic;
    wire::store_little_endian(magic.data(), wire::hello_magic);
    const std::size_t known = (std::min)(first.size(), magic.size());
    return std::equal(first.begin(), first.begin() + static_cast<std::ptrdiff_t>(known),
                      magic.begin());
}

SOTTO_DECL bool is_start_of_tls(byte_view first) noexcept {
    return first.size() >= 2 && first[0] == std::byte{22} && first[1] == std::byte{3};
}

SOTTO_DECL tcp_opening tcp_opening::to(const asio::ip::tcp::endpoint& place, int peer,
                                       wire::connection_purpose purpose) {
    tcp_opening made;
    made.place_ = place;
    made.peer = peer;
    made.purpose = purpose;
    return made;
}

SOTTO_DECL tcp_opening tcp_opening::from(std::unique_ptr<tcp_socket> socket, std::string address,
                                         stage first, const deadline& limit) {
    tcp_opening made;
    made.socket_ = std::move(socket);
    made.at = first;
    made.address = std::move(address);
    made.limit = limit;
    return made;
}

SOTTO_DECL std::size_t tcp_opening::due(std::size_t ranks) const noexcept {
    switch (at) {
        case stage::knock_due: return tcp_security::first_bytes;
        case stage::hello_due: return wire::hello_bytes;
        case stage::table_due: return wire::rank_table_bytes(ranks);
        default: return wire::rendezvous_message_bytes;
    }
}

SOTTO_DECL std::unique_ptr<tcp_socket> tcp_opening::taken_over() noexcept {
    at = stage::done;
    return std::move(socket_);
}

SOTTO_DECL void tcp_opening::connect(const tcp_context& context, time_point now, duration most) {
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

SOTTO_DECL void tcp_opening::rest(time_point till) noexcept {
    socket_.reset();
    in_.clear();
    out_.clear();
    at = stage::resting;
    until = till;
}

SOTTO_DECL std::optional<std::string> tcp_opening::flush() {
    while (!out_.empty()) {
        const byte_view all = out_;
        const moved sent = socket_->write(std::span(&all, 1));
        if (sent.closed) return sent.why;
        if (sent.bytes == 0) break;
        out_.erase(out_.begin(), out_.begin() + static_cast<std::ptrdiff_t>(sent.bytes));
    }
    return std::nullopt;
}

SOTTO_DECL std::optional<bytes> tcp_opening::read(std::size_t due,
                                                  std::optional<std::string>& lost) {
    const std::size_t had = in_.size();
    in_.resize(due);
    const mutable_byte_view rest = mutable_byte_view(in_).subspan(had);
    const moved got = socket_->read(std::span(&rest, 1));
    in_.resize(had + got.bytes);
    if (got.closed) lost = got.why;
    if (in_.size() < due) return std::nullopt;
    return std::exchange(in_, {});
}

SOTTO_DECL std::string described(const asio::ip::tcp::endpoint& place) {
    return place.address().to_string() + " port " + std::to_string(place.port());
}

SOTTO_DECL void require_sockets(const std::list<tcp_opening>& openings, std::optional<int> peer,
                                const tcp_options& options) {
    for (const tcp_opening& o : openings)
        if (peer == o.peer && !o.no_socket().empty())
            throw io_failure(
                "tcp: rank " + std::to_string(options.rank) +
                " has no socket for its connections to rank " + std::to_string(o.peer) + ": " +
                o.no_socket() + "; a job of " + std::to_string(options.size) + " ranks takes " +
                std::to_string(descriptors_needed(options)) + " descriptors at each (ulimit -n)");
}

SOTTO_DECL void seen_strangers::add(const std::string& address) {
    ++count_;
    last_ = address;
}

SOTTO_DECL std::string seen_strangers::described(const tcp_options& options) const {
    if (count_ == 0) return {};
    return "; " + std::to_string(count_) + (count_ == 1 ? " connection" : " connections") +
           ", the last from " + last_ + ", did not say of which rank" +
           (options.security ? ", or had another secret or tcp_options::job" : "") +
           (why_.empty() ? "" : "; one was turned away: " + why_);
}

SOTTO_DECL std::string why_not_greeted(const tcp_options& options) {
    const std::string secret =
        options.security ? "has another secret or tcp_options::job, or no secret"
        : must_be_of_one_user(options)
            ? "wants a secret, which this rank has none of (tcp_options::security), or is a "
              "process of another user"
            : "wants a secret, which this rank has none of (tcp_options::security)";
    return "; perhaps rank 0 " + secret + ", or ended or hangs, or no rank listens there";
}

SOTTO_DECL void failed_tries::not_greeted(std::string how) {
    if (answered_.empty()) answered_ = std::move(how);
}

SOTTO_DECL std::string failed_tries::described() const {
    if (!answered_.empty()) return "; its last attempt that was answered: " + answered_;
    return last_.empty() ? "" : "; its last attempt: " + last_;
}

SOTTO_DECL void make_room_for_stranger(std::list<tcp_opening>& openings, const std::string& address,
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
