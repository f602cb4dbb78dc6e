#pragma once

#include <cstdint>

#include "sotto/report/advice_transfer.hpp"
#include "sotto/transports/transport_ref.hpp"

namespace sotto::detail {

/// How a link is measured.
struct link_measurement {
    std::int64_t small_bytes = 8;        // of the shorter message
    std::int64_t large_bytes = 1 << 20;  // of the longer one
    int repetitions = 5;                 // of each size; the quickest counts
};

}  // namespace sotto::detail

namespace sotto {

/// Measures what a message costs between neighbours while all ranks send at once, as they do in a
/// ring: the slowest rank's link, the same on all ranks. Collective: every rank calls it.
///   math    with t(n) the quickest exchange of n bytes: bytes_per_second = (large - small) /
///           (t(large) - t(small)), latency = t(small) - small / bytes_per_second
///   cost    repetitions * (large_bytes + small_bytes) sent by each rank
///   errors  invalid_option: a single rank, sizes or repetitions that cannot work; what the
///           transport throws
network_link measure_link(transport_ref through, detail::link_measurement how = {});

}  // namespace sotto

#ifndef SOTTO_SEPARATE_COMPILATION
#include "sotto/report/advice_link.ipp"
#endif
