#pragma once

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <cstdint>

#include "sotto/launch/detail/system_calls.hpp"

namespace sotto::detail::launch {

/// A free port of 127.0.0.1, kept free while this lives: the system gives it to nobody who asks for
/// any port, but whoever asks for this one with SO_REUSEADDR, as rank 0 of a job over TCP does, may
/// listen on it. So nobody can take it between the choice of a port and its use.
///   errors  io_failure: the system has none left
class reserved_port {
public:
    /// Takes a port.
    reserved_port() {
        socket_ = sotto::detail::open_socket(AF_INET, SOCK_STREAM);
        if (!socket_) refuse_by_system("the system has no socket left");
        // Bound, but never listening: Linux lets another socket have the address then.
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

    /// Which port it is.
    std::uint16_t number() const noexcept { return number_; }

private:
    detail::descriptor socket_;
    std::uint16_t number_ = 0;
};

}  // namespace sotto::detail::launch
