#pragma once

#include <chrono>
#include <cstdint>

#include "sotto/core/clock.hpp"

namespace sotto {

/// How ranks that MPI connects treat each other. All ranks get the same values, except `transfers`.
struct mpi_options {
    /// Time limit of one blocking call while the other ranks live; above 0, or deadline::never. It
    /// also limits how long one rank may keep the others waiting: computing, loading data,
    /// callbacks, evaluation. Time in which this process is halted does not count.
    duration timeout = std::chrono::seconds(60);
    duration join = std::chrono::seconds(30);  // until all ranks have joined; or deadline::never
    std::int64_t budget = 4 << 20;  // bytes that each other rank may send before they are received
    std::int64_t transfers = 64;    // room for transfers in flight; grows when exceeded
    /// True: barrier, broadcast and all_gather are MPI's own. Sums never are: their order must
    /// follow from the number of ranks alone.
    bool native_collectives = true;

    void describe(auto&& field) const {
        field("budget", budget);
        field("native_collectives", native_collectives);
    }
};

}  // namespace sotto
