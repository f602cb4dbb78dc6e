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
    std::uint64_t inode = 0;  // 0: no process has it, so that its user means nothing
    int state = 0;            // as TCP_ESTABLISHED

    bool is_in_use() const noexcept { return state == TCP_ESTABLISHED && inode != 0; }
};

/// One end of a connection as /proc/net/tcp writes it: the words of its address as they are in
/// memory, and its port. `wide`: as /proc/net/tcp6 does.
std::string end_in_table(const asio::ip::tcp::endpoint& end, bool wide);

/// Finds the socket with these two ends in the text of /proc/net/tcp or tcp6.
std::optional<socket_record> find_in_table(std::string_view table, const std::string& own,
                                           const std::string& peer);

/// Finds the socket from `own` to `peer` in the tables that the system writes for people.
///   cost    a pass over all connections of this machine
std::optional<socket_record> find_in_tables(const asio::ip::tcp::endpoint& own,
                                            const asio::ip::tcp::endpoint& peer);

/// Asks the kernel for single sockets.
///   cost    10 us for each question, and a descriptor from the first one on
class socket_diagnosis {
public:
    /// The socket from `own` to `peer`; nothing if there is none, or the kernel does not answer.
    std::optional<socket_record> find(const asio::ip::tcp::endpoint& own,
                                      const asio::ip::tcp::endpoint& peer);

    /// Whether an answer is about the socket from `own` to `peer`. Where there is none, the kernel
    /// may answer with the socket that listens at `own`. A socket of IPv6 may have ends of IPv4.
    static bool is_about(const ::inet_diag_msg& answer, const asio::ip::tcp::endpoint& own,
                         const asio::ip::tcp::endpoint& peer);

private:
    struct question {
        ::nlmsghdr header;
        ::inet_diag_req_v2 request;
    };

    /// It is there once the question was sent.
    std::optional<::inet_diag_msg> answer_to_last();

    descriptor kernel_;
    std::uint32_t asked_ = 0;
};

/// The first word of a file, or `otherwise` if it cannot be read.
std::string first_word(const char* path, const char* otherwise);

/// Whether each user number means one user. A process sees all users of other user namespaces under
/// one number, the overflow user's; if that is its own number too, it cannot tell them apart.
bool users_are_told_apart(::uid_t own);

/// Whose process is at the other end of a connection within this machine.
enum class peer_user : std::uint8_t {
    own,      // this one's user's
    other,    // another user's
    gone,     // no process has it any more, or it is about to end
    unknown,  // this process cannot find out
};

/// Finds out whose process is at the other end of a connection within this machine.
class peer_users {
public:
    struct answer {
        peer_user whose = peer_user::unknown;
        ::uid_t user = 0;  // own and other
    };

    /// Of a connection of this process. One that was reset has left the system's tables: it is
    /// gone, also if that happened while they were searched.
    answer find(const tcp_socket& connection);
    /// Of the connection from `own` to `peer`.
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
