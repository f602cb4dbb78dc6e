#pragma once

#include <concepts>
#include <cstdint>
#include <span>

#include "sotto/transports/transport.hpp"
#include "sotto/transports/transport_ref.hpp"

namespace sotto::detail::collectives {

/// Something that all ranks do together, a piece at a time: whoever computes calls `advance` now
/// and then, so that messages travel meanwhile. All memory is taken when it is made; it borrows the
/// transport, and after `start` the caller's values until it is complete. Declare it after those:
/// it then ends its transfers before they go.
///   start(..., tag)   on every rank, with the same tag. Operations that are under way at once need
///                     different tags
///   advance()         does what can be done without blocking; true once complete, and before the
///                     first start
template <class O>
concept operation = requires(O& o) {
    { o.advance() } -> std::same_as<bool>;
};

/// What a strategy is told to exchange by: options that `bind` to a transport as an operation.
/// `sums`: adds up floats in place, so that the bytes sent do not grow with the number of ranks;
/// otherwise it gathers everybody's bytes.
template <class C>
concept collective = requires {
    { C::sums } -> std::convertible_to<bool>;
};

/// Blocks until all these operations are complete, whichever order they advance in.
template <operation... Operations>
void run(transport_ref through, Operations&... operations) {
    while (true) {
        const std::uint64_t seen =
            through.activity();  // before looking: what completes meanwhile ends the wait
        bool complete = true;
        ((complete = operations.advance() && complete), ...);
        if (complete) return;
        through.await(seen);
    }
}

/// The same for operations in a row, such as one for each tensor.
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
