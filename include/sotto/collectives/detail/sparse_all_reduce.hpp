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

/// As a number of sums to keep: every sum that is not 0.
inline constexpr std::int64_t keep_all_sums = (std::numeric_limits<std::int64_t>::max)();

/// Adds up entries of all ranks and gives everybody the largest sums, by a volume that does not
/// grow with the number of ranks: each entry goes to the owner of its stripe, who adds up, keeps
/// the largest sums of its stripes, and sends these to everybody.
///
/// A sum that is not kept stays with its owner, who adds it to its own memory: whole, in one place,
/// without a message and, up to the addition itself, exactly. Were each sender to take back its own
/// part instead, parts that cancel each other out (+100 here, -100 there) would come back to both,
/// grow from round to round and at last fill the messages with sums that are never applied; so they
/// are settled once they were sent. An owner's entries in its own stripes cost nothing on the way.
///   math    sum[i] = x[0][i] + x[1][i] + ..., in the order of the ranks, from 0; of each rank's
///           sums the ceil(kept / N) of largest magnitude go out. Stripes are narrow, so that an
///           owner's largest are a fair sample of all. Everybody ends with the same bits
///   shape   n elements; own entries ascending, at most entries_max; a result of N runs, each
///           ascending, no element in two of them
///   wire    to each owner a sotto::wire::sparse_block of its places, nothing if there are none;
///           then its sums likewise. In halves own values must be rounded already; what rounding
///           takes away from sums is left at the owner
///   cost    2 steps, or N if the bound of one rank's sums is above 32 KiB: all_gather_v then takes
///           them around a ring. Sent: at most k + (N-1) ceil(kept / N) entries, and with entries
///           everywhere (N-1)/N of k + kept; received about as many. Work O(k + kept + n/N). Memory
///           20 n/N bytes, 12 for each entry and for each kept sum, and as messages min((N-1) k, n)
///           and 2 kept entries
///   errors  invalid_option: a number below 0, n above 2^32, more entries than were bound, entries
///           that do not rise or reach n; std::logic_error: started before it was complete. advance
///           throws malformed_message
///   source  regions with an owner, selection of sums and a balanced gathering: Li and Hoefler
///           2022, Near-optimal sparse allreduce for distributed deep learning, arXiv:2201.07598;
///           what is dropped on the way is kept where it is dropped: Zhao et al. 2023, SparDL,
///           arXiv:2304.00737
class sparse_all_reduce {
public:
    /// For n elements, so many entries of one rank and so many sums kept of all; the same on all
    /// ranks.
    sparse_all_reduce(transport_ref through, std::int64_t n, std::int64_t entries_max,
                      std::int64_t kept_max, wire::value_format format = wire::value_format::fp32);

    /// What bounds the sums that one rank sends to all, by all_gather_v.
    std::int64_t sums_bytes_max() const noexcept { return gather_.bytes_max(); }

    /// `own` is copied. The result has at most about `kept` sums: ceil(kept / N) of each rank, and
    /// never more than were bound. `kept` is this rank's own affair: others may pass another one.
    void start(const kernels::sparse_values& own, std::int64_t kept, tag label);

    bool advance();

    /// The sums that a rank kept of its stripes; these and the following are valid until the next
    /// start.
    kernels::sparse_values sums_of(int rank) const noexcept;

    /// What was sent to this rank and is not in the result: to be remembered here.
    kernels::sparse_values left() const noexcept { return {left_indices_, owned_.left().values}; }

private:
    enum class phase : std::uint8_t { adding, gathering, complete };

    static std::int64_t checked(std::int64_t n, std::int64_t entries_max, std::int64_t kept_max);

    bool complete() const noexcept { return now_ == phase::complete && sends_.empty(); }
    bytes& room_of(int rank) noexcept { return rooms_[static_cast<std::size_t>(rank)]; }

    std::int64_t share_of(std::int64_t all) const noexcept;
    std::int64_t times_world(std::int64_t count) const noexcept { return count * world_; }

    std::int64_t block_bytes_max(std::int64_t entries) const noexcept;

    /// The most bytes of all runs together. A shift of Rice's code costs as much for entries in N
    /// blocks as for all of them in one block of N times as many places. Each block adds its head,
    /// mode and padding.
    std::int64_t runs_bytes_max() const noexcept;

    /// Entries into places_ and values_, one owner's after the other's.
    void sort_by_owner(const kernels::sparse_values& own);

    kernels::sparse_values run_to(int rank) const noexcept;

    /// To the next rank first, so that no owner gets all runs at once.
    void write_runs();

    void add_arrived();

    /// Entries at places of `owner` that another rank sent.
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
    std::int64_t run_max_;  // entries of one rank in another one's stripes
    std::int64_t sum_max_;  // sums that one rank keeps
    detail::collectives::reselection owned_;
    tag label_;
    phase now_ = phase::complete;
    int turn_ = 0;  // whose entries are to be added next
    std::int64_t kept_ = 0;
    std::vector<std::uint32_t> places_;  // own entries, owner after owner
    std::vector<float> values_;
    std::vector<std::size_t> ends_;
    bytes out_;
    bytes block_;
    std::vector<bytes> rooms_;
    std::vector<std::uint32_t> read_places_;
    std::vector<float> read_values_;
    std::vector<std::uint32_t> sum_indices_;  // of the result, rank after rank
    std::vector<float> sum_values_;
    std::vector<std::size_t> sum_ends_;
    std::vector<std::uint32_t> left_indices_;
    detail::collectives::all_gather_v
        gather_;  // from here on last: transfers end before the memory goes
    detail::collectives::flight receives_;
    detail::collectives::flight sends_;
};

}  // namespace sotto::detail::collectives

#ifndef SOTTO_SEPARATE_COMPILATION
#include "sotto/collectives/detail/sparse_all_reduce.ipp"
#endif
