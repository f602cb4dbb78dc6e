#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "sotto/strategies/round_report.hpp"

namespace sotto::detail {

/// What became of the models that a rank published for others to learn from.
struct published_record {
    double bytes = 0.0;         // to students, or into a folder
    std::int64_t skipped = 0;   // not published, for the one before was still under way
    std::int64_t problems = 0;  // one after the other
    std::string problem{};      // that there is now; empty: none
    std::string last{};         // of all
    std::int64_t since = 0;     // the step from which on it is so; 0: there was none

    /// A step, the first that it stands for.
    void add(std::int64_t first, const taught_report& round) {
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

    friend bool operator==(const published_record&, const published_record&) = default;

private:
    /// But for numbers: a file is named by its step, so each try fails in other words.
    static bool is_same(std::string_view a, std::string_view b) {
        const auto words = [](std::string_view text) {
            std::string rest(text);
            std::erase_if(rest, [](char c) { return c >= '0' && c <= '9'; });
            return rest;
        };
        return words(a) == words(b);
    }
};

}  // namespace sotto::detail
