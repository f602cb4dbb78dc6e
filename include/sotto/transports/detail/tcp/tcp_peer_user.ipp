#pragma once

#include "sotto/transports/detail/tcp/tcp_peer_user.hpp"

#include <linux/sock_diag.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cinttypes>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <system_error>

#include "sotto/core/config.hpp"
#include "sotto/core/detail/files/read_text.hpp"
#include "sotto/transports/detail/tcp/tcp_address.hpp"
#include "sotto/wire/detail/protocols/hello.hpp"

namespace sotto::detail::net {

SOTTO_DECL std::string end_in_table(const asio::ip::tcp::endpoint& end, bool wide) {
    const wire::listening_place raw = to_wire(end);
    std::string text;
    std::array<char, 9> word{};
    for (std::size_t at = wide ? 0 : 12; at < 16; at += 4) {
        std::uint32_t value = 0;
        std::memcpy(&value, raw.address.data() + at, sizeof value);
        std::snprintf(word.data(), word.size(), "%08X", value);
        text += word.data();
    }
    std::snprintf(word.data(), word.size(), ":%04X", raw.port);
    return text + word.data();
}

SOTTO_DECL std::optional<socket_record> find_in_table(std::string_view table,
                                                      const std::string& own,
                                                      const std::string& peer) {
    const std::string ends = ": " + own + " " + peer + " ";
    const std::size_t at = table.find(ends);
    if (at == std::string_view::npos) return std::nullopt;
    std::string_view rest = table.substr(at + ends.size());
    rest = rest.substr(0, rest.find('\n'));
    // State, queues, timer, retransmissions, user, time-out, inode.
    std::array<std::string_view, 7> fields{};
    for (std::string_view& field : fields) {
        rest.remove_prefix((std::min)(rest.find_first_not_of(' '), rest.size()));
        field = rest.substr(0, rest.find(' '));
        rest.remove_prefix(field.size());
    }
    const auto read = [](std::string_view text, auto& value, int base = 10) {
        const char* const end = text.data() + text.size();
        return std::from_chars(text.data(), end, value, base).ptr == end && !text.empty();
    };
    socket_record found;
    if (!read(fields[0], found.state, 16) || !read(fields[4], found.user) ||
        !read(fields[6], found.inode))
        return std::nullopt;
    return found;
}

SOTTO_DECL std::optional<socket_record> find_in_tables(const asio::ip::tcp::endpoint& own,
                                                       const asio::ip::tcp::endpoint& peer) {
    const auto find_in = [&](const char* path, bool wide) {
        std::error_code ignored;
        return find_in_table(read_text(path, ignored), end_in_table(own, wide),
                             end_in_table(peer, wide));
    };
    // An IPv4 connection may belong to an IPv6 socket.
    if (unmapped(own.address()).is_v4())
        if (const auto found = find_in("/proc/net/tcp", false)) return found;
    return find_in("/proc/net/tcp6", true);
}

SOTTO_DECL std::optional<socket_record> socket_diagnosis::find(
    const asio::ip::tcp::endpoint& own, const asio::ip::tcp::endpoint& peer) {
    if (!kernel_) kernel_ = open_socket(AF_NETLINK, SOCK_DGRAM, NETLINK_SOCK_DIAG);
    if (!kernel_) return std::nullopt;
    const bool wide = unmapped(own.address()).is_v6();
    question asked{};
    asked.header.nlmsg_len = sizeof asked;
    asked.header.nlmsg_type = SOCK_DIAG_BY_FAMILY;
    asked.header.nlmsg_flags = NLM_F_REQUEST;
    asked.header.nlmsg_seq = ++asked_;
    asked.request.sdiag_family = wide ? AF_INET6 : AF_INET;
    asked.request.sdiag_protocol = IPPROTO_TCP;
    asked.request.idiag_states = ~0u;
    auto& id = asked.request.id;
    id.idiag_cookie[0] = id.idiag_cookie[1] = INET_DIAG_NOCOOKIE;
    id.idiag_sport = htons(own.port());
    id.idiag_dport = htons(peer.port());
    const std::size_t skipped = wide ? 0 : 12;
    std::memcpy(id.idiag_src, to_wire(own).address.data() + skipped, 16 - skipped);
    std::memcpy(id.idiag_dst, to_wire(peer).address.data() + skipped, 16 - skipped);
    const auto sent = ::send(kernel_.handle(), &asked, sizeof asked, MSG_DONTWAIT);
    if (sent != static_cast<ssize_t>(sizeof asked)) return std::nullopt;
    const auto answer = answer_to_last();
    return answer && is_about(*answer, own, peer)
               ? std::optional(
                     socket_record{answer->idiag_uid, answer->idiag_inode, answer->idiag_state})
               : std::nullopt;
}

SOTTO_DECL bool socket_diagnosis::is_about(const ::inet_diag_msg& answer,
                                           const asio::ip::tcp::endpoint& own,
                                           const asio::ip::tcp::endpoint& peer) {
    const std::size_t skipped = answer.idiag_family == AF_INET6 ? 0 : 12;
    const auto is_at = [&](const auto& address, auto port, const asio::ip::tcp::endpoint& end) {
        return port == htons(end.port()) &&
               std::memcmp(address, to_wire(end).address.data() + skipped, 16 - skipped) == 0;
    };
    return is_at(answer.id.idiag_src, answer.id.idiag_sport, own) &&
           is_at(answer.id.idiag_dst, answer.id.idiag_dport, peer);
}

SOTTO_DECL std::optional<::inet_diag_msg> socket_diagnosis::answer_to_last() {
    std::array<std::byte, 1024> room;
    ::nlmsghdr header{};
    ::inet_diag_msg answer{};
    const auto count = uninterrupted(
        [&] { return ::recv(kernel_.handle(), room.data(), room.size(), MSG_DONTWAIT); });
    if (count < static_cast<ssize_t>(NLMSG_HDRLEN + sizeof answer)) return std::nullopt;
    std::memcpy(&header, room.data(), sizeof header);
    std::memcpy(&answer, room.data() + NLMSG_HDRLEN, sizeof answer);
    if (header.nlmsg_type != SOCK_DIAG_BY_FAMILY || header.nlmsg_seq != asked_) return std::nullopt;
    return answer;
}

SOTTO_DECL std::string first_word(const char* path, const char* otherwise) {
    std::error_code why;
    const std::string text = read_text(path, why);
    return why ? otherwise : text.substr(0, text.find_first_of(" \n"));
}

SOTTO_DECL bool users_are_told_apart(::uid_t own) {
    if (std::to_string(own) != first_word("/proc/sys/kernel/overflowuid", "65534")) return true;
    std::error_code why;
    const std::string map = read_text("/proc/self/uid_map", why);
    std::uint64_t first = 0, outside = 0, count = 0;
    const int read =
        std::sscanf(map.c_str(), "%" SCNu64 " %" SCNu64 " %" SCNu64, &first, &outside, &count);
    return why || (read == 3 && first == 0 && outside == 0 && count >= UINT32_MAX);
}

SOTTO_DECL peer_users::answer peer_users::find(const tcp_socket& connection) {
    constexpr answer gone{peer_user::gone, 0};
    const auto peer = connection.remote_place();
    if (!peer) return gone;
    const answer found = find(connection.local_place(), *peer);
    return found.whose == peer_user::unknown && !connection.remote_place() ? gone : found;
}

SOTTO_DECL peer_users::answer peer_users::find(const asio::ip::tcp::endpoint& own,
                                               const asio::ip::tcp::endpoint& peer) {
    const ::uid_t self = ::geteuid();
    // The tables are no snapshot: they may lack a connection while others open and close.
    for (int tries = 0; tries < 3; ++tries) {
        const auto found = look_up(peer, own);
        if (!found || !found->is_in_use()) continue;
        if (found->user == self && !users_are_told_apart(self)) return {};
        return {found->user == self ? peer_user::own : peer_user::other, found->user};
    }
    const auto at_this_end = look_up(own, peer);
    return {at_this_end && at_this_end->inode != 0 ? peer_user::gone : peer_user::unknown, 0};
}

SOTTO_DECL std::optional<socket_record> peer_users::look_up(const asio::ip::tcp::endpoint& own,
                                                            const asio::ip::tcp::endpoint& peer) {
    if (const auto found = kernel_.find(own, peer)) return found;
    return find_in_tables(own, peer);
}

}  // namespace sotto::detail::net
