#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

#include "sotto/collectives/detail/all_gather_v.hpp"
#include "sotto/collectives/detail/flight.hpp"
#include "sotto/collectives/detail/reselection.hpp"
#include "sotto/collectives/detail/stripes.hpp"
#include "sotto/core/bytes.hpp"
#include "sotto/core/detail/memory/finite.hpp"
#include "sotto/core/require_option.hpp"
#include "sotto/kernels/sparse_add.hpp"
#include "sotto/transports/transport.hpp"
#include "sotto/transports/transport_ref.hpp"
#include "sotto/wire/value_format.hpp"

namespace sotto::detail::collectives {

/// Number of sums to keep that keeps every sum that is not 0.
inline constexpr std::int64_t keep_all_sums = (std::numeric_limits<std::int64_t>::max)();

/// Adds up sparse entries of all ranks and sends the largest sums to every rank. The volume does
/// not grow with the number of ranks. Each entry travels to the owner of its stripe. The owner adds
/// up the entries, keeps the largest sums of its stripes, and sends these to all ranks.
///
/// A sum that is not kept stays with its owner, which adds it to its own memory: whole, in one
/// place, without a message and, up to the addition itself, exactly. If each sender took back its
/// own part instead, parts that cancel out (+100 on one rank, -100 on another) would return to
/// both. They would grow from round to round and finally fill the messages with sums that are never
/// applied. At the owner they cancel out once they are sent. An owner's entries in its own stripes
/// are not sent.
///   math    sum[i] = x[0][i] + x[1][i] + ..., in rank order, from 0. Each rank sends the ceil(kept
///           / N) of its sums that have the largest magnitude. Stripes are narrow, so an owner's
///           largest sums are a fair sample of all. Every rank gets the same bits
///   shape   n elements; own entries ascending, at most entries_max; a result of N runs, each
///           ascending, no element in two of them
///   wire    to each owner a sotto::wire::sparse_block of its places, empty if there are none; then
///           its sums likewise. With 16-bit values the own values must already be rounded; the
///           rounding errors of sums stay with the owner
///   cost    2 steps, or N if the bound of one rank's sums is above 32 KiB: all_gather_v then uses
///           the ring. Sent: at most k + (N-1) ceil(kept / N) entries, and with entries everywhere
///           (N-1)/N of k + kept; received about as many. Work O(k + kept + n/N). Memory 20 n/N
///           bytes, 12 for each entry and for each kept sum, and as messages min((N-1) k, n) and 2
///           kept entries
///   errors  invalid_option: a number below 0, n above 2^32, more entries than were bound, entries
///           that do not rise or reach n; std::logic_error: started before it was complete. advance
///           throws malformed_message
///   source  regions with an owner, selection of sums and a balanced gathering: Li and Hoefler
///           2022, Near-optimal sparse allreduce for distributed deep learning, arXiv:2201.07598;
///           what is dropped on the way is kept where it is dropped: Zhao et al. 2023, SparDL,
///           arXiv:2304.00737
class sparse_all_reduce {
public:
    /// For n elements, at most `entries_max` entries of one rank and `kept_max` kept sums of all
    /// ranks; the same on all ranks.
    sparse_all_reduce(transport_ref through, std::int64_t n, std::int64_t entries_max,
                      std::int64_t kept_max, wire::value_format format = wire::value_format::fp32);

    /// Maximum bytes of one rank's sums, which all_gather_v sends to all.
    std::int64_t sums_bytes_max() const noexcept { return gather_.bytes_max(); }

    /// Starts it; `own` is copied. The result has at most about `kept` sums: ceil(kept / N) of each
    /// rank, and never more than were bound. Ranks may pass different values of `kept`.
    void start(const kernels::sparse_values& own, std::int64_t kept, tag label);

    bool advance();

    /// Sums that a rank kept of its stripes. This and the following results are valid until the
    /// next start.
    kernels::sparse_values sums_of(int rank) const noexcept;

    /// Entries sent to this rank that are not in the result. This rank must add them to its memory.
    kernels::sparse_values left() const noexcept { return {left_indices_, owned_.left().values}; }

private:
    enum class phase : std::uint8_t { adding, gathering, complete };

    static std::int64_t checked(std::int64_t n, std::int64_t entries_max, std::int64_t kept_max);

    bool complete() const noexcept { return now_ == phase::complete && sends_.empty(); }
    bytes& room_of(int rank) noexcept { return rooms_[static_cast<std::size_t>(rank)]; }

    std::int64_t share_of(std::int64_t all) const noexcept;
    std::int64_t times_world(std::int64_t count) const noexcept { return count * world_; }

    std::int64_t block_bytes_max(std::int64_t entries) const noexcept;

    /// Maximum bytes of all runs together. Entries in N blocks need the same shift of Rice's code
    /// as entries in one block with N times as many places. Each block adds its head, mode and
    /// padding.
    std::int64_t runs_bytes_max() const noexcept;

    /// Sorts entries into places_ and values_, owner after owner.
    void sort_by_owner(const kernels::sparse_values& own);

    kernels::sparse_values run_to(int rank) const noexcept;

    /// Sends to the next rank first, so that no owner gets all runs at once.
    void write_runs();

    void add_arrived();

    /// Decodes entries at places of `owner` that `sender` sent.
    kernels::sparse_values read(byte_view block, int owner, int sender);

    void read_sums();

    std::uint32_t element(int rank, std::uint32_t place) const noexcept;

    transport_ref through_;
    std::int64_t n_;
    std::int64_t entries_max_;
    int world_;
    int rank_;
    sotto::wire::value_format format_;
    stripes stripes_;
    std::int64_t run_max_;  // entries of one rank in another rank's stripes
    std::int64_t sum_max_;  // kept sums of one rank
    detail::collectives::reselection owned_;
    tag label_;
    phase now_ = phase::complete;
    int turn_ = 0;  // rank whose entries are added next
    std::int64_t kept_ = 0;
    std::vector<std::uint32_t> places_;  // own entries, owner after owner
    std::vector<float> values_;
    std::vector<std::size_t> ends_;
    bytes out_;
    bytes block_;
    std::vector<bytes> rooms_;
    std::vector<std::uint32_t> read_places_;
    std::vector<float> read_values_;
    std::vector<std::uint32_t> sum_indices_;  // indices of the result, rank after rank
    std::vector<float> sum_values_;
    std::vector<std::size_t> sum_ends_;
    std::vector<std::uint32_t> left_indices_;
    detail::collectives::all_gather_v
        gather_;  // from here on last: transfers end before the memory is freed
    detail::collectives::flight receives_;
    detail::collectives::flight sends_;
};

}  // namespace sotto::detail::collectives

#ifndef SOTTO_SEPARATE_COMPILATION
#include "sotto/collectives/detail/sparse_all_reduce.ipp"
#endif
