#pragma once

#include <linux/inet_diag.h>
#include <linux/netlink.h>
#include <netinet/tcp.h>
#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "sotto/core/detail/files/descriptor.hpp"
#include "sotto/transports/detail/tcp/tcp_socket.hpp"

namespace sotto::detail::net {

/// A connected socket of this machine, as the system describes it.
struct socket_record {
    ::uid_t user = 0;
    std::uint64_t inode = 0;  // 0: no process has it, so its user means nothing
    int state = 0;            // as TCP_ESTABLISHED

    bool is_in_use() const noexcept { return state == TCP_ESTABLISHED && inode != 0; }
};

/// One end of a connection as written in /proc/net/tcp: the words of its address as they are in
/// memory, and its port. `wide`: as in /proc/net/tcp6.
std::string end_in_table(const asio::ip::tcp::endpoint& end, bool wide);

/// Finds the socket with these two ends in the text of /proc/net/tcp or tcp6.
std::optional<socket_record> find_in_table(std::string_view table, const std::string& own,
                                           const std::string& peer);

/// Finds the socket from `own` to `peer` in the system's text tables.
///   cost    a pass over all connections of this machine
std::optional<socket_record> find_in_tables(const asio::ip::tcp::endpoint& own,
                                            const asio::ip::tcp::endpoint& peer);

/// Requests single sockets from the kernel.
///   cost    10 us for each request, and a descriptor from the first one on
class socket_diagnosis {
public:
    /// Socket from `own` to `peer`; nothing if there is none, or the kernel does not answer.
    std::optional<socket_record> find(const asio::ip::tcp::endpoint& own,
                                      const asio::ip::tcp::endpoint& peer);

    /// True if an answer is about the socket from `own` to `peer`. If there is none, the kernel may
    /// answer with the socket that listens at `own`. An IPv6 socket may have IPv4 ends.
    static bool is_about(const ::inet_diag_msg& answer, const asio::ip::tcp::endpoint& own,
                         const asio::ip::tcp::endpoint& peer);

private:
    struct question {
        ::nlmsghdr header;
        ::inet_diag_req_v2 request;
    };

    /// Reads the answer, which is there once the request was sent.
    std::optional<::inet_diag_msg> answer_to_last();

    descriptor kernel_;
    std::uint32_t asked_ = 0;
};

/// First word of a file, or `otherwise` if it cannot be read.
std::string first_word(const char* path, const char* otherwise);

/// True if each user number means one user. A process sees all users of other user namespaces under
/// one number, the overflow user's. If its own number is the same, it cannot distinguish them.
bool users_are_told_apart(::uid_t own);

/// User of the process at the other end of a connection within this machine.
enum class peer_user : std::uint8_t {
    own,      // this process's user
    other,    // another user
    gone,     // no process has the connection any more, or it is about to end
    unknown,  // this process cannot find out
};

/// Finds the user of the process at the other end of a connection within this machine.
class peer_users {
public:
    struct answer {
        peer_user whose = peer_user::unknown;
        ::uid_t user = 0;  // set if own or other
    };

    /// For a connection of this process. A connection that was reset has left the system's tables:
    /// it is gone, even if this happened during the search.
    answer find(const tcp_socket& connection);
    /// For the connection from `own` to `peer`.
    answer find(const asio::ip::tcp::endpoint& own, const asio::ip::tcp::endpoint& peer);

private:
    std::optional<socket_record> look_up(const asio::ip::tcp::endpoint& own,
                                         const asio::ip::tcp::endpoint& peer);

    socket_diagnosis kernel_;
};

}  // namespace sotto::detail::net

#ifndef SOTTO_SEPARATE_COMPILATION
#include "sotto/transports/detail/tcp/tcp_peer_user.ipp"
#endif
