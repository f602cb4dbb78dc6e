#pragma once

#include <cstdint>

#include "sotto/collectives/all_reduce.hpp"
#include "sotto/wire/value_format.hpp"

namespace sotto {

/// Properties of one rank's link to the others. A message of n bytes takes latency + n /
/// bytes_per_second, and the next message is sent while one is in flight.
///   errors  functions that use it throw invalid_option unless bytes_per_second > 0 and latency >=
///           0, both finite
struct network_link {
    double bytes_per_second = 125e6;  // 1 Gbit/s
    double latency_seconds = 100e-6;  // of a message, one way
};

/// Throws invalid_option, naming the caller `who`, if the link is invalid.
void check_link(const char* who, const network_link& link);

}  // namespace sotto

namespace sotto::detail {

/// Load of an exchange on the busiest rank's link.
///   math    seconds = bytes / bytes_per_second + messages * latency
struct transfer_cost {
    double bytes = 0.0;     // bytes sent or received one after another
    double messages = 0.0;  // messages that each wait for the one before

    /// Returns the time of this exchange alone.
    double seconds(const network_link& link) const noexcept;

    /// Adds another tensor's exchange. Both are in flight at once: their bytes share the link, but
    /// their latencies overlap.
    transfer_cost& operator+=(const transfer_cost& other) noexcept;
};

}  // namespace sotto::detail

namespace sotto {

/// Returns the cost of summing `values` floats over all ranks as all_reduce does.
///   math    messages: the steps of rank 0's plan; bytes: at each step the larger of the bytes sent
///           and received. No rank has more steps: rank 0 is the root of trees, and stands for a
///           rank beyond a power of two if there is one. Another rank has more bytes only if the
///           values do not divide evenly
detail::transfer_cost all_reduce_cost(
    std::int64_t values, int world, wire::value_format format = wire::value_format::fp32,
    detail::collectives::algorithm which = detail::collectives::algorithm::automatic);

/// Returns the cost of gathering a message of this size from every rank on every rank.
///   math    N-1 messages leave each rank. Around a ring each waits for the one before; sent
///           directly, none waits
detail::transfer_cost all_gather_cost(double message_bytes, int world, bool around_ring = true);

}  // namespace sotto

#ifndef SOTTO_SEPARATE_COMPILATION
#include "sotto/report/advice_transfer.ipp"
#endif
