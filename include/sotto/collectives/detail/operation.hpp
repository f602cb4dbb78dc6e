#pragma once

#include <concepts>
#include <cstdint>
#include <span>

#include "sotto/transports/transport.hpp"
#include "sotto/transports/transport_ref.hpp"

namespace sotto::detail::collectives {

/// An operation that all ranks run together, piece by piece. The computing thread calls `advance`
/// now and then, so messages travel while it computes. All memory is allocated at construction. The
/// operation borrows the transport and, from `start` until completion, the caller's values. Declare
/// it after both: its transfers then end before they are destroyed.
///   start(..., tag)   starts it; call it on every rank with the same tag. Operations in flight at
///                     the same time need different tags
///   advance()         does what is possible without blocking. Returns true once complete, and
///                     before the first start
template <class O>
concept operation = requires(O& o) {
    { o.advance() } -> std::same_as<bool>;
};

/// Options that select the collective of a strategy: they `bind` to a transport as an operation. If
/// `sums` is true it adds up floats in place, so the bytes sent do not grow with the number of
/// ranks. Otherwise it gathers the bytes of all ranks.
template <class C>
concept collective = requires {
    { C::sums } -> std::convertible_to<bool>;
};

/// Blocks until all these operations are complete, in any order.
template <operation... Operations>
void run(transport_ref through, Operations&... operations) {
    while (true) {
        const std::uint64_t seen =
            through.activity();  // read first: a later completion ends the wait
        bool complete = true;
        ((complete = operations.advance() && complete), ...);
        if (complete) return;
        through.await(seen);
    }
}

/// The same for a range of operations, such as one for each tensor.
template <operation Operation>
void wait_all(transport_ref through, std::span<Operation> operations) {
    while (true) {
        const std::uint64_t seen = through.activity();
        bool complete = true;
        for (Operation& o : operations) complete = o.advance() && complete;
        if (complete) return;
        through.await(seen);
    }
}

}  // namespace sotto::detail::collectives
