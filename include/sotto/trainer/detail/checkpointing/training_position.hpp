#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "sotto/checkpoint/detail/file_header.hpp"

namespace sotto::detail {

/// The place in a run where a checkpoint is taken.
struct training_position {
    std::int64_t step = 0;                       // rounds completed in all
    std::int64_t epoch = 0;                      // epochs completed
    std::int64_t round = 0;                      // rounds completed of the epoch after these
    std::int64_t fit = 1;                        // the call of `fit` under way, counted from 1
    std::int64_t fit_epochs = 0, fit_steps = 0;  // completed by it
    std::int64_t fit_stopped = 0;                // not 0: a fit_control has ended it
    std::int64_t examples = 0;                   // of the data, of which this rank reads
    std::int64_t of_this_rank = 0;
    std::int64_t own = 0;  // not 0: the data are this rank's own
};

/// As the examples of a rank: however many.
inline constexpr std::int64_t any_share = -1;

/// The place that a checkpoint was taken at.
struct found_place {
    std::int64_t world = 0;
    training_position place{};  // examples, and those of a rank, are with the shares
};
static_assert(std::has_unique_object_representations_v<found_place>);

/// Beyond any count of a run, and far from where adding to one would overflow.
inline constexpr std::int64_t count_max = std::int64_t{1} << 62;

/// Counts in a checkpoint's metadata, separated by blanks.
///   errors  what was expected and what was found instead; empty: `found` holds `count` of them,
///           each from 0 to 2^62
std::string read_counts(const checkpoint::file_header& header, std::string_view name,
                        std::int64_t count, std::vector<std::int64_t>& found);

/// Where a run was, from the metadata of its checkpoint: bounded before anything is computed with
/// it. `shares` are the examples of the data as each old rank saw them, then of each rank's part.
///   errors  what was expected and what was found instead; empty: all was read
std::string read_place(const checkpoint::file_header& header, found_place& to,
                       std::vector<std::int64_t>& shares);

}  // namespace sotto::detail

#ifndef SOTTO_SEPARATE_COMPILATION
#include "sotto/trainer/detail/checkpointing/training_position.ipp"
#endif
