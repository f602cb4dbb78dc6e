#pragma once

#include <cstdint>

#include "sotto/wire/sparse_block.hpp"
#include "sotto/wire/value_format.hpp"

namespace sotto::detail::collectives {

/// Route of the ranks' entries while they are sparse.
///   gather          every rank's entries to every rank
///   reduce_scatter  to the owners of stripes, which send their largest sums to every rank: see
///                   sparse_all_reduce
enum class sparse_way : std::uint8_t { gather, reduce_scatter };

/// Bytes that a link sends in the time of one step, 0.25 ms at 1 Gbit/s: as in choose_all_reduce.
inline constexpr std::int64_t step_bytes = 32768;

/// Returns the route for a tensor's entries. The choice is a table, not a measurement, so a run
/// repeats bit for bit on any network. `entries` is the most that a rank sends of n elements. A
/// rank's message has B bytes, and there are N ranks. Then gather sends (N-1) B, and reduce_scatter
/// up to 2 (N-1)/N B in one more step. That is two steps instead of one or, around all_gather_v's
/// ring, at most N instead of N-1.
///
///   up to 8 ranks   gather: it applies everything that is sent, for up to 3.5 times the bytes
///   more            reduce_scatter, if the saved bytes take longer than a step
///
/// Always gather if `reselects` is false: the sums cannot be selected from again.
constexpr sparse_way choose_sparse(std::int64_t n, std::int64_t entries, int world, bool reselects,
                                   wire::value_format format = wire::value_format::fp32) noexcept {
    constexpr int few = 8;
    if (world <= few || !reselects) return sparse_way::gather;
    const std::int64_t message = sotto::wire::encoded_sparse_bytes_max(n, entries, format);
    return (world - 1) * (message - 2 * message / world) <= step_bytes ? sparse_way::gather
                                                                       : sparse_way::reduce_scatter;
}

/// True if a dense sum of these mostly zero vectors is shorter. Evaluate it for each round, with
/// the entries that the round sends. A dense sum sends 2 (N-1)/N of 4 n bytes.
///   gather           true if (N-1) B exceeds this by more bytes than a step takes: the result has
///                    filled in, and dense sums have more steps. For large tensors, from about 2
///                    n/N entries
///   reduce_scatter   true if (N-1)/N of the entries and of the kept sums take at least as many
///                    bytes: at nearly n of both. Nothing is selected then
constexpr bool is_dense_shorter(sparse_way than, std::int64_t n, std::int64_t entries,
                                std::int64_t kept, int world,
                                wire::value_format format = wire::value_format::fp32) noexcept {
    if (world == 1) return false;
    const std::int64_t message = sotto::wire::encoded_sparse_bytes_max(n, entries, format);
    if (than == sparse_way::gather) return (world - 1) * (message - 8 * n / world) > step_bytes;
    return message + sotto::wire::encoded_sparse_bytes_max(n, kept, format) >= 8 * n;
}

}  // namespace sotto::detail::collectives
