#pragma once

#include "sotto/launch/detail/reserved_port.hpp"

#include <netinet/in.h>
#include <sys/socket.h>

#include "sotto/core/config.hpp"
#include "sotto/launch/detail/system_calls.hpp"

namespace sotto::detail::launch {

SOTTO_DECL reserved_port::reserved_port() {
    socket_ = sotto::detail::open_socket(AF_INET, SOCK_STREAM);
    if (!socket_) refuse_by_system("the system has no socket left");
    // Bound, but never listening: Linux then lets another socket use the address.
    const int yes = 1;
    sockaddr_in at{};
    at.sin_family = AF_INET;
    at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t length = sizeof at;
    auto* const address = reinterpret_cast<sockaddr*>(&at);
    if (::setsockopt(socket_.handle(), SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes) != 0 ||
        ::bind(socket_.handle(), address, sizeof at) != 0 ||
        ::getsockname(socket_.handle(), address, &length) != 0)
        refuse_by_system("the system has no free port of 127.0.0.1");
    number_ = ntohs(at.sin_port);
}

}  // namespace sotto::detail::launch
