#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "sotto/checkpoint/detail/file_header.hpp"

namespace sotto::detail {

/// Position in a run at which a checkpoint is written.
struct training_position {
    std::int64_t step = 0;                       // rounds completed in total
    std::int64_t epoch = 0;                      // epochs completed
    std::int64_t round = 0;                      // rounds completed of the current epoch
    std::int64_t fit = 1;                        // current call of `fit`, from 1
    std::int64_t fit_epochs = 0, fit_steps = 0;  // completed by this call
    std::int64_t fit_stopped = 0;                // not 0: a fit_control stopped it
    std::int64_t examples = 0;                   // size of the data; then of this rank's share
    std::int64_t of_this_rank = 0;
    std::int64_t own = 0;  // not 0: this rank has its own data
};

/// Value of a rank's examples that matches any number.
inline constexpr std::int64_t any_share = -1;

/// Position of a checkpoint that was found.
struct found_place {
    std::int64_t world = 0;
    training_position place{};  // without numbers of examples, which are in the shares
};
static_assert(std::has_unique_object_representations_v<found_place>);

/// Above any count of a run, and far below an overflow of additions.
inline constexpr std::int64_t count_max = std::int64_t{1} << 62;

/// Reads counts from a checkpoint's metadata, separated by spaces.
///   errors  returns what was expected and what was found instead; empty on success: `found` then
///           holds `count` counts, each from 0 to 2^62
std::string read_counts(const checkpoint::file_header& header, std::string_view name,
                        std::int64_t count, std::vector<std::int64_t>& found);

/// Reads the position of a run from the metadata of its checkpoint, with bounds on every value.
/// `shares` are the examples of the data as each old rank had them, then of each rank's share.
///   errors  returns what was expected and what was found instead; empty on success
std::string read_place(const checkpoint::file_header& header, found_place& to,
                       std::vector<std::int64_t>& shares);

}  // namespace sotto::detail

#ifndef SOTTO_SEPARATE_COMPILATION
#include "sotto/trainer/detail/checkpointing/training_position.ipp"
#endif
