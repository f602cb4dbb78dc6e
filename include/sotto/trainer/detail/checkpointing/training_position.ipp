#pragma once

#include "sotto/trainer/detail/checkpointing/training_position.hpp"

#include <charconv>
#include <limits>
#include <system_error>

#include "sotto/core/config.hpp"

namespace sotto::detail {

SOTTO_DECL std::string read_counts(const checkpoint::file_header& header, std::string_view name,
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

SOTTO_DECL std::string read_place(const checkpoint::file_header& header, found_place& to,
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
