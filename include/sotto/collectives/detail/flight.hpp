#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "sotto/transports/transport.hpp"
#include "sotto/transports/transport_ref.hpp"

namespace sotto::detail::collectives {

/// Transfers under way, oldest first, in a ring of fixed capacity. Memory was lent for each: should
/// it be destroyed while any is under way (an exception passes), it withdraws the rank, and the
/// memory can go.
class flight {
public:
    /// For so many transfers at once.
    flight(transport_ref through, std::size_t capacity) : through_(through), requests_(capacity) {}
    /// Takes what is under way along.
    flight(flight&& other) noexcept;
    /// Exchanges what is under way.
    flight& operator=(flight&& other) noexcept;
    /// Withdraws the rank if any transfer is under way.
    ~flight();

    /// Whether nothing is under way.
    bool empty() const noexcept { return count_ == 0; }
    /// Whether nothing more can be.
    bool full() const noexcept { return count_ == requests_.size(); }
    /// Transfers under way.
    std::size_t size() const noexcept { return count_; }

    /// Requires !full().
    void push(request r) noexcept;

    /// How the oldest ended, and forgets it; nothing if there is none or it is still under way.
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
