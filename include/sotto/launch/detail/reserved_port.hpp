#pragma once

#include <arpa/inet.h>

#include <cstdint>

#include "sotto/core/detail/files/descriptor.hpp"

namespace sotto::detail::launch {

/// A free port of 127.0.0.1, reserved while this object lives. The system assigns it to no socket
/// that requests any port. A socket that requests this port with SO_REUSEADDR may listen on it, as
/// rank 0 of a TCP job does. So no process can take the port between its choice and its use.
///   errors  io_failure: the system has none left
class reserved_port {
public:
    /// Reserves a port.
    reserved_port();

    /// Number of the port.
    std::uint16_t number() const noexcept { return number_; }

private:
    detail::descriptor socket_;
    std::uint16_t number_ = 0;
};

}  // namespace sotto::detail::launch

#ifndef SOTTO_SEPARATE_COMPILATION
#include "sotto/launch/detail/reserved_port.ipp"
#endif
