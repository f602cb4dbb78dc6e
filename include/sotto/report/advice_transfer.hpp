#pragma once

#include <cstdint>

#include "sotto/collectives/all_reduce.hpp"
#include "sotto/wire/value_format.hpp"

namespace sotto {

/// What one rank's way to the others is like: a message of n bytes takes latency + n /
/// bytes_per_second, and while one is on its way the next one leaves.
///   errors  whoever uses it throws invalid_option unless bytes_per_second > 0 and latency >= 0,
///           both finite
struct network_link {
    double bytes_per_second = 125e6;  // 1 Gbit/s
    double latency_seconds = 100e-6;  // of a message, one way
};

/// Throws invalid_option, naming `who` asks, unless the link can be one.
void check_link(const char* who, const network_link& link);

}  // namespace sotto

namespace sotto::detail {

/// What an exchange puts on the busiest rank's link.
///   math    seconds = bytes / bytes_per_second + messages * latency
struct transfer_cost {
    double bytes = 0.0;     // that have to leave, or to arrive, one after another
    double messages = 0.0;  // of which each waits for the one before

    /// By itself.
    double seconds(const network_link& link) const noexcept;

    /// Together with another tensor's exchange: both are under way at once, so that their bytes
    /// share the link, but their latencies pass at the same time.
    transfer_cost& operator+=(const transfer_cost& other) noexcept;
};

}  // namespace sotto::detail

namespace sotto {

/// Summing `values` floats over all ranks as all_reduce does.
///   math    messages: the steps of rank 0's plan; bytes: at each, what it sends or what it gets,
///           whichever is more. No rank has more steps: rank 0 is the root of trees and stands for
///           a rank beyond a power of two, if there is any. Another one has more bytes only by
///           those of values that do not divide evenly
detail::transfer_cost all_reduce_cost(
    std::int64_t values, int world, wire::value_format format = wire::value_format::fp32,
    detail::collectives::algorithm which = detail::collectives::algorithm::automatic);

/// Gathering a message of so many bytes from every rank on every rank.
///   math    N-1 messages leave each rank. Around a ring each waits for the one before; straight to
///           everyone none does
detail::transfer_cost all_gather_cost(double message_bytes, int world, bool around_ring = true);

}  // namespace sotto

#ifndef SOTTO_SEPARATE_COMPILATION
#include "sotto/report/advice_transfer.ipp"
#endif
