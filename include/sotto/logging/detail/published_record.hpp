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
    void add(std::int64_t first, const taught_report& round);

    friend bool operator==(const published_record&, const published_record&) = default;

private:
    /// But for numbers: a file is named by its step, so each try fails in other words.
    static bool is_same(std::string_view a, std::string_view b);
};

}  // namespace sotto::detail

#ifndef SOTTO_SEPARATE_COMPILATION
#include "sotto/logging/detail/published_record.ipp"
#endif
