#include "sotto/launch/detail/reserved_port.hpp"

#include <arpa/inet.h>
#include <doctest/doctest.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <cerrno>
#include <cstdint>
#include <set>
#include <vector>

#include "sotto/launch/detail/system_calls.hpp"

using sotto::detail::launch::descriptor;
using sotto::detail::launch::reserved_port;

namespace {

/// A socket that listens on a port of 127.0.0.1; none where the system refuses, with errno.
descriptor listening(std::uint16_t port, bool reuses) {
    descriptor made(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    const int yes = reuses ? 1 : 0;
    ::setsockopt(made.handle(), SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
    sockaddr_in at{};
    at.sin_family = AF_INET;
    at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    at.sin_port = htons(port);
    if (::bind(made.handle(), reinterpret_cast<sockaddr*>(&at), sizeof at) != 0 ||
        ::listen(made.handle(), 4) != 0)
        return {};
    return made;
}

}  // namespace

TEST_CASE("who knows a reserved port can listen on it, one after the other") {
    const reserved_port port;
    for (int time = 0; time < 3; ++time) CHECK(listening(port.number(), true));
}

TEST_CASE("a reserved port is given to nobody else") {
    std::vector<reserved_port> ports(50);
    std::set<std::uint16_t> different;
    for (const reserved_port& port : ports) different.insert(port.number());
    CHECK(different.size() == ports.size());
    CHECK_FALSE(different.contains(0));
    errno = 0;
    CHECK_FALSE(listening(ports[0].number(), false));
    CHECK(errno == EADDRINUSE);
}
