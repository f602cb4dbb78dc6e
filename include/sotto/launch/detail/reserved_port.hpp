#pragma once

#include <arpa/inet.h>

#include <cstdint>

#include "sotto/core/detail/files/descriptor.hpp"

namespace sotto::detail::launch {

/// A free port of 127.0.0.1, kept free while this lives: the system gives it to nobody who asks for
/// any port, but whoever asks for this one with SO_REUSEADDR, as rank 0 of a job over TCP does, may
/// listen on it. So nobody can take it between the choice of a port and its use.
///   errors  io_failure: the system has none left
class reserved_port {
public:
    /// Takes a port.
    reserved_port();

    /// Which port it is.
    std::uint16_t number() const noexcept { return number_; }

private:
    detail::descriptor socket_;
    std::uint16_t number_ = 0;
};

}  // namespace sotto::detail::launch

#ifndef SOTTO_SEPARATE_COMPILATION
#include "sotto/launch/detail/reserved_port.ipp"
#endif
