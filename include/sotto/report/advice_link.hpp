#pragma once

#include <cstdint>

#include "sotto/report/advice_transfer.hpp"
#include "sotto/transports/transport_ref.hpp"

namespace sotto::detail {

/// How a link is measured.
struct link_measurement {
    std::int64_t small_bytes = 8;        // size of the shorter message
    std::int64_t large_bytes = 1 << 20;  // size of the longer message
    int repetitions = 5;                 // number for each size; the fastest counts
};

}  // namespace sotto::detail

namespace sotto {

/// Measures the cost of a message between neighbours while all ranks send at once, as in a ring.
/// Returns the slowest rank's link, the same on all ranks. Collective: every rank calls it.
///   math    with t(n) the fastest exchange of n bytes: bytes_per_second = (large - small) /
///           (t(large) - t(small)), latency = t(small) - small / bytes_per_second
///   cost    repetitions * (large_bytes + small_bytes) sent by each rank
///   errors  invalid_option: a single rank, invalid sizes or repetitions; exceptions of the
///           transport
network_link measure_link(transport_ref through, detail::link_measurement how = {});

}  // namespace sotto

#ifndef SOTTO_SEPARATE_COMPILATION
#include "sotto/report/advice_link.ipp"
#endif
