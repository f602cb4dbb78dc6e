#pragma once

#include "sotto/collectives/detail/flight.hpp"
#include "sotto/transports/transport.hpp"
#include "sotto/transports/transport_ref.hpp"

namespace sotto::detail::collectives {

/// Completes on no rank before every rank has started it.
///   cost    ceil(log2 N) steps; a rank sends one empty message in each. If the transport has its
///           own barrier, the cost of that
///   source  Hensgen, Finkel, Manber 1988, Two algorithms for barrier synchronization
class barrier {
public:
    /// Borrows the transport.
    explicit barrier(transport_ref through);

    void start(tag label);

    bool advance();

private:
    void post();

    transport_ref through_;
    tag label_;
    int distance_;
    flight transfers_;
    native_collective native_;
};

}  // namespace sotto::detail::collectives

#ifndef SOTTO_SEPARATE_COMPILATION
#include "sotto/collectives/detail/barrier.ipp"
#endif
