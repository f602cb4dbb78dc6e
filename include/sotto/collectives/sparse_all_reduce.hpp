#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "sotto/collectives/detail/all_gather_v.hpp"
#include "sotto/collectives/detail/flight.hpp"
#include "sotto/collectives/detail/reselection.hpp"
#include "sotto/collectives/detail/stripes.hpp"
#include "sotto/core/bytes.hpp"
#include "sotto/core/errors.hpp"
#include "sotto/core/detail/memory/finite.hpp"
#include "sotto/core/require_option.hpp"
#include "sotto/core/result.hpp"
#include "sotto/kernels/sparse_add.hpp"
#include "sotto/transports/transport.hpp"
#include "sotto/transports/transport_ref.hpp"
#include "sotto/wire/sparse_block.hpp"
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
///           wherever (N-1)/N of k + kept; received about as many. Work O(k + kept + n/N). Memory
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
                      std::int64_t kept_max, wire::value_format format = wire::value_format::fp32)
        : through_(through),
          n_(checked(n, entries_max, kept_max)),
          entries_max_((std::min)(entries_max, n)),
          world_(through.size()),
          rank_(through.rank()),
          format_(format),
          stripes_(n, world_),
          run_max_((std::min)(entries_max_, stripes_.places())),
          sum_max_((std::min)({share_of(kept_max), stripes_.places(), times_world(entries_max_)})),
          owned_(stripes_.places(), times_world(entries_max_), sum_max_),
          rooms_(static_cast<std::size_t>(world_)),
          gather_(through, block_bytes_max(sum_max_)),
          receives_(through, static_cast<std::size_t>(world_)),
          sends_(through, static_cast<std::size_t>(world_)) {
        for (int rank = 0; rank < world_; ++rank)
            if (rank != rank_)
                room_of(rank).resize(static_cast<std::size_t>(block_bytes_max(run_max_)));
        const auto entries = static_cast<std::size_t>(entries_max_);
        places_.resize(entries);
        values_.resize(entries);
        ends_.resize(static_cast<std::size_t>(world_) + 1);
        out_.reserve(static_cast<std::size_t>(runs_bytes_max()));
        block_.reserve(static_cast<std::size_t>(block_bytes_max(sum_max_)));
        const auto run = static_cast<std::size_t>((std::max)(run_max_, sum_max_));
        read_places_.resize(run);
        read_values_.resize(run);
        const auto sums = static_cast<std::size_t>((std::min)(n, times_world(sum_max_)));
        sum_indices_.reserve(sums);
        sum_values_.reserve(sums);
        sum_ends_.reserve(static_cast<std::size_t>(world_));
        left_indices_.reserve(
            static_cast<std::size_t>((std::min)(stripes_.places(), times_world(entries_max_))));
        through.reserve(4 * std::int64_t{world_});
    }

    /// What bounds the sums that one rank sends to all, by all_gather_v.
    std::int64_t sums_bytes_max() const noexcept { return gather_.bytes_max(); }

    /// `own` is copied. The result has at most about `kept` sums: ceil(kept / N) of each rank, and
    /// never more than were bound. `kept` is this rank's own affair: others may pass another one.
    void start(const kernels::sparse_values& own, std::int64_t kept, tag label) {
        if (!complete())
            throw std::logic_error("sparse_all_reduce: started before it was complete");
        sort_by_owner(own);
        label_ = label;
        kept_ = std::clamp<std::int64_t>(share_of(kept), 0, sum_max_);
        sum_indices_.clear();
        sum_values_.clear();
        sum_ends_.clear();
        left_indices_.clear();
        turn_ = 0;
        now_ = phase::adding;
        for (int rank = 0; rank < world_; ++rank)
            if (rank != rank_) receives_.push(through_.receive(rank, label_, room_of(rank)));
        write_runs();
        advance();
    }

    bool advance() {
        if (now_ == phase::adding) add_arrived();
        if (now_ == phase::gathering && gather_.advance()) {
            read_sums();
            now_ = phase::complete;
        }
        while (sends_.pop_complete()) {}
        return complete();
    }

    /// The sums that a rank kept of its stripes; these and the following are valid until the next
    /// start.
    kernels::sparse_values sums_of(int rank) const noexcept {
        const std::size_t begin = rank == 0 ? 0 : sum_ends_[static_cast<std::size_t>(rank) - 1],
                          count = sum_ends_[static_cast<std::size_t>(rank)] - begin;
        return {std::span(sum_indices_).subspan(begin, count),
                std::span(sum_values_).subspan(begin, count)};
    }

    /// What was sent to this rank and is not in the result: to be remembered here.
    kernels::sparse_values left() const noexcept { return {left_indices_, owned_.left().values}; }

private:
    enum class phase : std::uint8_t { adding, gathering, complete };

    static std::int64_t checked(std::int64_t n, std::int64_t entries_max, std::int64_t kept_max) {
        if (n < 0 || n > std::int64_t{1} << 32 || entries_max < 0 || kept_max < 0)
            throw invalid_option("sparse_all_reduce: at most " + std::to_string(entries_max) +
                                 " of " + std::to_string(n) + " elements, of whose sums " +
                                 std::to_string(kept_max) +
                                 " are kept; a tensor has 0 to 2^32 elements, and no number is "
                                 "below 0");
        return n;
    }

    bool complete() const noexcept { return now_ == phase::complete && sends_.empty(); }
    bytes& room_of(int rank) noexcept { return rooms_[static_cast<std::size_t>(rank)]; }

    std::int64_t share_of(std::int64_t all) const noexcept {
        return all / world_ + (all % world_ != 0);
    }
    std::int64_t times_world(std::int64_t count) const noexcept { return count * world_; }

    std::int64_t block_bytes_max(std::int64_t entries) const noexcept {
        return sotto::wire::encoded_sparse_bytes_max(stripes_.places(), entries, format_);
    }

    /// Of all runs together. Whatever a shift of Rice's code costs with all entries in one block of
    /// N times as many places, it costs no more with the entries shared out, but for each block's
    /// own head, mode and filling.
    std::int64_t runs_bytes_max() const noexcept {
        constexpr std::int64_t head_max = 8;
        return sotto::wire::encoded_sparse_bytes_max(times_world(stripes_.places()), entries_max_,
                                                     format_) +
               head_max * world_;
    }

    /// Entries into places_ and values_, one owner's after the other's.
    void sort_by_owner(const kernels::sparse_values& own) {
        const auto indices = own.indices;
        if (indices.size() != own.values.size() ||
            static_cast<std::int64_t>(indices.size()) > entries_max_)
            throw invalid_option("sparse_all_reduce: " + std::to_string(indices.size()) +
                                 " indices and " + std::to_string(own.values.size()) +
                                 " values; expected as many of both, and at most " +
                                 std::to_string(entries_max_));
        for (std::size_t j = 0; j < indices.size(); ++j)
            if (indices[j] >= static_cast<std::uint64_t>(n_) ||
                (j > 0 && indices[j] <= indices[j - 1]))
                throw invalid_option("sparse_all_reduce: entry " + std::to_string(j) +
                                     " has index " + std::to_string(indices[j]) +
                                     "; indices rise and are below " + std::to_string(n_));
        std::fill(ends_.begin(), ends_.end(), std::size_t{0});
        // Counts of the ranks before; then, as entries are put in their places, their ends.
        stripes_.for_each(indices, [&](std::size_t, int rank, std::uint32_t) {
            ++ends_[static_cast<std::size_t>(rank) + 1];
        });
        for (std::size_t rank = 1; rank < ends_.size(); ++rank) ends_[rank] += ends_[rank - 1];
        stripes_.for_each(indices, [&](std::size_t j, int rank, std::uint32_t place) {
            const std::size_t to = ends_[static_cast<std::size_t>(rank)]++;
            places_[to] = place;
            values_[to] = own.values[j];
        });
    }

    kernels::sparse_values run_to(int rank) const noexcept {
        const std::size_t begin = rank == 0 ? 0 : ends_[static_cast<std::size_t>(rank) - 1],
                          count = ends_[static_cast<std::size_t>(rank)] - begin;
        return {std::span(places_).subspan(begin, count), std::span(values_).subspan(begin, count)};
    }

    /// To the next rank first, so that no owner gets all runs at once.
    void write_runs() {
        out_.clear();
        for (int hop = 1; hop < world_; ++hop) {
            const int to = (rank_ + hop) % world_;
            const kernels::sparse_values run = run_to(to);
            const std::size_t begin = out_.size();
            if (!run.indices.empty())
                wire::encode_sparse(stripes_.places(), run.indices, run.values, format_, out_);
            sends_.push(through_.send(to, label_, byte_view(out_).subspan(begin)));
        }
    }

    void add_arrived() {
        for (; turn_ < world_; ++turn_) {
            if (turn_ == rank_) {
                owned_.add(run_to(rank_));
                continue;
            }
            const auto ended = receives_.pop_complete();
            if (!ended) return;
            owned_.add(read(byte_view(room_of(turn_)).first(static_cast<std::size_t>(ended->bytes)),
                            rank_, turn_));
        }
        owned_.take_out(kept_, format_);
        for (const std::uint32_t place : owned_.left().indices)
            left_indices_.push_back(element(rank_, place));
        block_.clear();
        const kernels::sparse_values kept = owned_.kept();
        if (!kept.indices.empty())
            sotto::wire::encode_sparse(stripes_.places(), kept.indices, kept.values, format_,
                                       block_);
        now_ = phase::gathering;
        gather_.start(block_, label_);
    }

    /// Entries at places of `owner` that another rank sent.
    kernels::sparse_values read(byte_view block, int owner, int sender) {
        if (block.empty()) return {};
        const auto name = [&] {
            return "the entries of rank " + std::to_string(owner) + "'s stripes from rank " +
                   std::to_string(sender);
        };
        const auto entries = sotto::wire::decode_sparse(
            block, stripes_.places(), std::span(read_places_), std::span(read_values_));
        if (!entries) throw malformed_message(sender, name(), entries.why());
        // The others lie before it.
        if (!entries->indices.empty() &&
            stripes_.element(owner, entries->indices.back()) >= static_cast<std::uint64_t>(n_))
            throw malformed_message(
                sender, name(),
                {.expected = "places within the tensor", .found = entries->indices.back()});
        return {entries->indices, entries->values};
    }

    void read_sums() {
        for (int rank = 0; rank < world_; ++rank) {
            const kernels::sparse_values sums = read(gather_.block_of(rank), rank, rank);
            if (static_cast<std::int64_t>(sums.indices.size()) > sum_max_)
                throw malformed_message(rank, "the sums of rank " + std::to_string(rank),
                                        {.expected = "at most as many as were bound",
                                         .found = static_cast<std::int64_t>(sums.indices.size())});
            for (const std::uint32_t place : sums.indices)
                sum_indices_.push_back(element(rank, place));
            sum_values_.insert(sum_values_.end(), sums.values.begin(), sums.values.end());
            sum_ends_.push_back(sum_indices_.size());
        }
    }

    std::uint32_t element(int rank, std::uint32_t place) const noexcept {
        return static_cast<std::uint32_t>(stripes_.element(rank, place));
    }

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

namespace sotto::collectives {

/// Exchanges entries by sparse_all_reduce, where a sum of them as a dense vector would not be
/// shorter: for many ranks. The compressor must be sparse and its memory take entries back.
///
/// `kept` decides how many sums a step applies. 1, the default, applies about as many as one rank
/// sends entries; all others wait at their owners. `all` applies every sum, of fp32 values bit for
/// bit as all_gather{} does. It sends fewer bytes than all_gather{} where ranks choose the same
/// entries. Where ranks choose different entries it sends a rank's own entries once more.
struct sparse_reduce_scatter {
    static constexpr bool sums = false;
    static constexpr double all = (std::numeric_limits<double>::max)();  // as `kept`: every sum
    double kept = 1.0;  // sums of all ranks together, in multiples of what one rank sends

    void describe(auto&& field) const {
        if (keeps_all())
            field("kept", std::string_view("all"));
        else
            field("kept", kept);
    }

    /// Whether every sum is applied.
    bool keeps_all() const noexcept { return detail::is_finite(kept) && kept == all; }

    /// The most sums of `world` ranks that are kept, where each sends so many of n entries.
    std::int64_t kept_at_most(std::int64_t entries, std::int64_t n, int world) const noexcept;

    /// The sums that sparse_all_reduce is asked for, where a rank sends so many of n entries.
    std::int64_t kept_of(std::int64_t entries, std::int64_t n) const noexcept;

    ///   errors  invalid_option unless `kept` is positive and finite, or `all`
    auto bind(transport_ref through, std::int64_t n, std::int64_t entries_max,
              wire::value_format format = wire::value_format::fp32) const {
        if (!keeps_all())
            require_option("sparse_reduce_scatter", "kept", kept, detail::allowed::above(0.0),
                           " (1 keeps as many sums as one rank sends entries), or "
                           "sparse_reduce_scatter::all");
        return detail::collectives::sparse_all_reduce(through, n, entries_max, kept_of(entries_max, n),
                                            format);
    }
};

}  // namespace sotto::collectives

#ifndef SOTTO_SEPARATE_COMPILATION
#include "sotto/collectives/sparse_all_reduce.ipp"
#endif
