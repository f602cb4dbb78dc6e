#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "sotto/transports/transport.hpp"
#include "sotto/transports/transport_ref.hpp"

namespace sotto::detail::collectives {

/// Transfers in flight, oldest first, in a ring of fixed capacity. Memory was lent for each. If the
/// object is destroyed while a transfer is in flight (an exception unwinds), it withdraws the rank,
/// so the memory can be freed.
class flight {
public:
    /// For at most `capacity` transfers at once.
    flight(transport_ref through, std::size_t capacity) : through_(through), requests_(capacity) {}
    /// Takes over the transfers in flight.
    flight(flight&& other) noexcept;
    /// Exchanges the transfers in flight.
    flight& operator=(flight&& other) noexcept;
    /// Withdraws the rank if any transfer is in flight.
    ~flight();

    /// True if no transfer is in flight.
    bool empty() const noexcept { return count_ == 0; }
    /// True if the capacity is used up.
    bool full() const noexcept { return count_ == requests_.size(); }
    /// Number of transfers in flight.
    std::size_t size() const noexcept { return count_; }

    /// Adds a transfer. Requires !full().
    void push(request r) noexcept;

    /// Removes the oldest transfer and returns its completion. Returns nothing if there is none or
    /// it is still in flight.
    std::optional<completion> pop_complete();

private:
    void swap(flight& other) noexcept;

    transport_ref through_;
    std::vector<request> requests_;
    std::size_t first_ = 0;
    std::size_t count_ = 0;
};

}  // namespace sotto::detail::collectives

#ifndef SOTTO_SEPARATE_COMPILATION
#include "sotto/collectives/detail/flight.ipp"
#endif
