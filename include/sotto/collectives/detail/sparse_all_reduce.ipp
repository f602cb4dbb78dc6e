#pragma once

#include "sotto/collectives/detail/sparse_all_reduce.hpp"

#include <algorithm>
#include <span>
#include <stdexcept>
#include <string>

#include "sotto/core/config.hpp"
#include "sotto/core/errors.hpp"
#include "sotto/core/result.hpp"
#include "sotto/wire/sparse_block.hpp"

namespace sotto::detail::collectives {

SOTTO_DECL sparse_all_reduce::sparse_all_reduce(transport_ref through, std::int64_t n,
                                                std::int64_t entries_max, std::int64_t kept_max,
                                                wire::value_format format)
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

SOTTO_DECL void sparse_all_reduce::start(const kernels::sparse_values& own, std::int64_t kept,
                                         tag label) {
    if (!complete()) throw std::logic_error("sparse_all_reduce: started before it was complete");
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

SOTTO_DECL bool sparse_all_reduce::advance() {
    if (now_ == phase::adding) add_arrived();
    if (now_ == phase::gathering && gather_.advance()) {
        read_sums();
        now_ = phase::complete;
    }
    while (sends_.pop_complete()) {}
    return complete();
}

SOTTO_DECL kernels::sparse_values sparse_all_reduce::sums_of(int rank) const noexcept {
    const std::size_t begin = rank == 0 ? 0 : sum_ends_[static_cast<std::size_t>(rank) - 1],
                      count = sum_ends_[static_cast<std::size_t>(rank)] - begin;
    return {std::span(sum_indices_).subspan(begin, count),
            std::span(sum_values_).subspan(begin, count)};
}

SOTTO_DECL std::int64_t sparse_all_reduce::checked(std::int64_t n, std::int64_t entries_max,
                                                   std::int64_t kept_max) {
    if (n < 0 || n > std::int64_t{1} << 32 || entries_max < 0 || kept_max < 0)
        throw invalid_option("sparse_all_reduce: at most " + std::to_string(entries_max) + " of " +
                             std::to_string(n) + " elements, of whose sums " +
                             std::to_string(kept_max) +
                             " are kept; a tensor has 0 to 2^32 elements, and no number is "
                             "below 0");
    return n;
}

SOTTO_DECL std::int64_t sparse_all_reduce::share_of(std::int64_t all) const noexcept {
    return all / world_ + (all % world_ != 0);
}

SOTTO_DECL std::int64_t sparse_all_reduce::block_bytes_max(std::int64_t entries) const noexcept {
    return sotto::wire::encoded_sparse_bytes_max(stripes_.places(), entries, format_);
}

SOTTO_DECL std::int64_t sparse_all_reduce::runs_bytes_max() const noexcept {
    constexpr std::int64_t head_max = 8;
    return sotto::wire::encoded_sparse_bytes_max(times_world(stripes_.places()), entries_max_,
                                                 format_) +
           head_max * world_;
}

SOTTO_DECL void sparse_all_reduce::sort_by_owner(const kernels::sparse_values& own) {
    const auto indices = own.indices;
    if (indices.size() != own.values.size() ||
        static_cast<std::int64_t>(indices.size()) > entries_max_)
        throw invalid_option("sparse_all_reduce: " + std::to_string(indices.size()) +
                             " indices and " + std::to_string(own.values.size()) +
                             " values; expected as many of both, and at most " +
                             std::to_string(entries_max_));
    for (std::size_t j = 0; j < indices.size(); ++j)
        if (indices[j] >= static_cast<std::uint64_t>(n_) || (j > 0 && indices[j] <= indices[j - 1]))
            throw invalid_option("sparse_all_reduce: entry " + std::to_string(j) + " has index " +
                                 std::to_string(indices[j]) + "; indices rise and are below " +
                                 std::to_string(n_));
    std::fill(ends_.begin(), ends_.end(), std::size_t{0});
    // First the counts of the ranks before; after the entries are in their places, the ends.
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

SOTTO_DECL kernels::sparse_values sparse_all_reduce::run_to(int rank) const noexcept {
    const std::size_t begin = rank == 0 ? 0 : ends_[static_cast<std::size_t>(rank) - 1],
                      count = ends_[static_cast<std::size_t>(rank)] - begin;
    return {std::span(places_).subspan(begin, count), std::span(values_).subspan(begin, count)};
}

SOTTO_DECL void sparse_all_reduce::write_runs() {
    out_.clear();
    for (int hop = 1; hop < world_; ++hop) {
        const int to = (rank_ + hop) % world_;
        const kernels::sparse_values run = run_to(to);
        const std::size_t begin = out_.size();
        if (!run.indices.empty())
            sotto::wire::encode_sparse(stripes_.places(), run.indices, run.values, format_, out_);
        sends_.push(through_.send(to, label_, byte_view(out_).subspan(begin)));
    }
}

SOTTO_DECL void sparse_all_reduce::add_arrived() {
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
        sotto::wire::encode_sparse(stripes_.places(), kept.indices, kept.values, format_, block_);
    now_ = phase::gathering;
    gather_.start(block_, label_);
}

SOTTO_DECL kernels::sparse_values sparse_all_reduce::read(byte_view block, int owner, int sender) {
    if (block.empty()) return {};
    const auto name = [&] {
        return "the entries of rank " + std::to_string(owner) + "'s stripes from rank " +
               std::to_string(sender);
    };
    const auto entries = sotto::wire::decode_sparse(
        block, stripes_.places(), std::span(read_places_), std::span(read_values_));
    if (!entries) throw malformed_message(sender, name(), entries.why());
    // All other places are smaller.
    if (!entries->indices.empty() &&
        stripes_.element(owner, entries->indices.back()) >= static_cast<std::uint64_t>(n_))
        throw malformed_message(
            sender, name(),
            {.expected = "places within the tensor", .found = entries->indices.back()});
    return {entries->indices, entries->values};
}

SOTTO_DECL void sparse_all_reduce::read_sums() {
    for (int rank = 0; rank < world_; ++rank) {
        const kernels::sparse_values sums = read(gather_.block_of(rank), rank, rank);
        if (static_cast<std::int64_t>(sums.indices.size()) > sum_max_)
            throw malformed_message(rank, "the sums of rank " + std::to_string(rank),
                                    {.expected = "at most as many as were bound",
                                     .found = static_cast<std::int64_t>(sums.indices.size())});
        for (const std::uint32_t place : sums.indices) sum_indices_.push_back(element(rank, place));
        sum_values_.insert(sum_values_.end(), sums.values.begin(), sums.values.end());
        sum_ends_.push_back(sum_indices_.size());
    }
}

SOTTO_DECL std::uint32_t sparse_all_reduce::element(int rank, std::uint32_t place) const noexcept {
    return static_cast<std::uint32_t>(stripes_.element(rank, place));
}

}  // namespace sotto::detail::collectives
