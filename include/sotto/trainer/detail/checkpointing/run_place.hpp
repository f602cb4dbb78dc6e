#pragma once

#include <charconv>
#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <system_error>
#include <type_traits>
#include <vector>

#include "sotto/checkpoint/detail/file_header.hpp"

namespace sotto::detail {

/// The place in a run where a checkpoint is taken.
struct run_place {
    std::int64_t step = 0;                       // rounds completed in all
    std::int64_t epoch = 0;                      // epochs completed
    std::int64_t round = 0;                      // rounds completed of the epoch after these
    std::int64_t fit = 1;                        // the call of `fit` under way, counted from 1
    std::int64_t fit_epochs = 0, fit_steps = 0;  // completed by it
    std::int64_t fit_stopped = 0;                // not 0: a verdict has ended it
    std::int64_t examples = 0;                   // of the data, of which this rank reads
    std::int64_t of_this_rank = 0;
    std::int64_t own = 0;  // not 0: the data are this rank's own
};

/// As the examples of a rank: however many.
inline constexpr std::int64_t any_share = -1;

/// The place that a checkpoint was taken at.
struct found_place {
    std::int64_t world = 0;
    run_place place{};  // examples, and those of a rank, are with the shares
};
static_assert(std::has_unique_object_representations_v<found_place>);

/// Beyond any count of a run, and far from where adding to one would overflow.
inline constexpr std::int64_t count_max = std::int64_t{1} << 62;

/// Counts in a checkpoint's metadata, separated by blanks.
///   errors  what was expected and what was found instead; empty: `found` holds `count` of them,
///           each from 0 to 2^62
inline std::string read_counts(const checkpoint::file_header& header, std::string_view name,
                               std::int64_t count, std::vector<std::int64_t>& found) {
    const std::string* text = header.metadata_named(name);
    if (!text) return "expected metadata named '" + std::string(name) + "', found none";
    found.clear();
    const char* at = text->data();
    const char* const end = at + text->size();
    while (at != end) {
        std::int64_t value = 0;
        const auto read = std::from_chars(at, end, value);
        if (read.ec != std::errc{} || value < 0 || value > count_max ||
            (read.ptr != end && *read.ptr != ' '))
            break;
        found.push_back(value);
        at = read.ptr == end ? end : read.ptr + 1;
    }
    if (at == end && static_cast<std::int64_t>(found.size()) == count) return {};
    return "expected " + std::to_string(count) + " counts of at most 2^62 as '" +
           std::string(name) + "', found '" + *text + "'";
}

/// Where a run was, from the metadata of its checkpoint: bounded before anything is computed with
/// it. `shares` are the examples of the data as each old rank saw them, then of each rank's part.
///   errors  what was expected and what was found instead; empty: all was read
inline std::string read_place(const checkpoint::file_header& header, found_place& to,
                              std::vector<std::int64_t>& shares) {
    std::string wrong;
    std::vector<std::int64_t> counts;
    const auto number = [&](const char* name) -> std::int64_t {
        if (wrong.empty()) wrong = read_counts(header, name, 1, counts);
        return wrong.empty() ? counts[0] : 0;
    };
    to.world = number("world_size");
    to.place = {.step = number("step"),
                .epoch = number("epoch"),
                .round = number("round"),
                .fit = number("fit"),
                .fit_epochs = number("fit.epochs"),
                .fit_steps = number("fit.steps"),
                .fit_stopped = number("fit.stopped"),
                .own = number("data.own_share")};
    if (!wrong.empty()) return wrong;
    if (to.world < 1 || to.world > (std::numeric_limits<int>::max)())
        return "expected a world_size of at least 1, found " + std::to_string(to.world);
    if (to.place.round > count_max / to.world)
        return "expected at most 2^62 rounds of all ranks, found " +
               std::to_string(to.place.round) + " of " + std::to_string(to.world);
    wrong = read_counts(header, "data.examples", to.world, shares);
    if (wrong.empty()) wrong = read_counts(header, "data.examples_of_ranks", to.world, counts);
    if (wrong.empty()) shares.insert(shares.end(), counts.begin(), counts.end());
    return wrong;
}

}  // namespace sotto::detail
