#pragma once

#include "sotto/logging/detail/published_record.hpp"

#include "sotto/core/config.hpp"

namespace sotto::detail {

SOTTO_DECL void published_record::add(std::int64_t first, const taught_report& round) {
    bytes += static_cast<double>(round.bytes_sent);
    skipped += round.skipped;
    if (round.problem == problem) return;
    const bool is_another = !is_same(problem, round.problem);
    problem = round.problem;
    if (!problem.empty()) last = problem;
    if (!is_another) return;
    since = first;
    problems += !problem.empty();
}

SOTTO_DECL bool published_record::is_same(std::string_view a, std::string_view b) {
    const auto words = [](std::string_view text) {
        std::string rest(text);
        std::erase_if(rest, [](char c) { return c >= '0' && c <= '9'; });
        return rest;
    };
    return words(a) == words(b);
}

}  // namespace sotto::detail
