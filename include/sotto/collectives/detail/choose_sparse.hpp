#pragma once

#include <cstdint>

#include "sotto/wire/sparse_block.hpp"
#include "sotto/wire/value_format.hpp"

namespace sotto::detail::collectives {

/// How entries of all ranks are exchanged while they are sparse: everybody's to everybody, or to
/// the owners of stripes, whose largest sums go to everybody.
///   gather          everybody's to everybody
///   reduce_scatter  to the owners of stripes, see sparse_all_reduce
enum class sparse_way : std::uint8_t { gather, reduce_scatter };

/// So many bytes are sent in a step's time, 0.25 ms at 1 Gbit/s: as in choose_all_reduce.
inline constexpr std::int64_t step_bytes = 32768;

/// Which of the two a tensor takes: a table, not a measurement, so that a run repeats bit for bit
/// on any network. `entries`: what a rank sends of n elements at most. With B bytes a message of N
/// ranks, gather sends (N-1) B and reduce_scatter up to 2 (N-1)/N B, in a step more: two instead of
/// one, or, around all_gather_v's ring, at most N instead of N-1.
///
///   up to 8 ranks   gather: all that is sent is applied, for up to 3.5 times the bytes
///   more            reduce_scatter, if the bytes that saves take longer than a step
///
/// Always gather where sums cannot be selected from once more.
constexpr sparse_way choose_sparse(std::int64_t n, std::int64_t entries, int world, bool reselects,
                                   wire::value_format format = wire::value_format::fp32) noexcept {
    constexpr int few = 8;
    if (world <= few || !reselects) return sparse_way::gather;
    const std::int64_t message = sotto::wire::encoded_sparse_bytes_max(n, entries, format);
    return (world - 1) * (message - 2 * message / world) <= step_bytes ? sparse_way::gather
                                                                       : sparse_way::reduce_scatter;
}

/// Whether a dense sum of vectors that are mostly zeros is shorter: decided for each round, by the
/// entries that it sends. A dense sum sends 2 (N-1)/N of 4 n bytes, so
///   gather           when the result has filled in: (N-1) B is more than that by more bytes than a
///                    step takes, since dense sums have more steps. Of large tensors from about
///                    2 n/N entries on
///   reduce_scatter   when entries and sums kept, (N-1)/N of both, are no less: at nearly all of n.
///                    Nothing is then selected any more
constexpr bool is_dense_shorter(sparse_way than, std::int64_t n, std::int64_t entries,
                                std::int64_t kept, int world,
                                wire::value_format format = wire::value_format::fp32) noexcept {
    if (world == 1) return false;
    const std::int64_t message = sotto::wire::encoded_sparse_bytes_max(n, entries, format);
    if (than == sparse_way::gather) return (world - 1) * (message - 8 * n / world) > step_bytes;
    return message + sotto::wire::encoded_sparse_bytes_max(n, kept, format) >= 8 * n;
}

}  // namespace sotto::detail::collectives
