#pragma once

#include <cstddef>
#include <vector>

#include "sotto/core/clock.hpp"

namespace sotto::detail::simulation {

/// Ranks in the order of a time that each may have, and that may change. If times are equal, the
/// lower rank is first.
///   cost    O(log N) to change a time: a binary heap that stores the position of each rank. 20
///           bytes a rank, so that a thousand stay in a first-level cache
class rank_queue {
public:
    explicit rank_queue(int ranks);

    bool empty() const noexcept { return heap_.empty(); }
    int first() const noexcept { return heap_.front().rank; }
    time_point time_of_first() const noexcept { return heap_.front().when; }

    /// Time of a rank that has one.
    time_point time_of(int rank) const noexcept;

    /// Sets the time of a rank, whether or not it has one.
    void set(int rank, time_point when) noexcept;

    /// Removes a rank that has a time.
    void remove(int rank) noexcept;

    void remove_first() noexcept;

private:
    static constexpr std::size_t nowhere = ~std::size_t{};

    struct entry {
        time_point when;
        int rank;

        bool is_before(const entry& other) const noexcept;
    };

    void put(entry e, std::size_t place) noexcept;

    void rise(std::size_t place) noexcept;

    void sink(std::size_t place) noexcept;

    std::vector<entry> heap_;
    std::vector<std::size_t> places_;  // position of each rank in the heap
};

}  // namespace sotto::detail::simulation

#ifndef SOTTO_SEPARATE_COMPILATION
#include "sotto/transports/detail/simulated/rank_queue.ipp"
#endif
