#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "sotto/strategies/round_report.hpp"

namespace sotto::detail {

/// Statistics of the models that a rank published for others to learn from.
struct published_record {
    double bytes = 0.0;         // bytes sent to students or written to a folder
    std::int64_t skipped = 0;   // models not published, because the one before was in flight
    std::int64_t problems = 0;  // number of different problems in a row
    std::string problem{};      // current problem; empty: none
    std::string last{};         // last problem of all
    std::int64_t since = 0;     // first step of the current state; 0: never a problem

    /// Adds a step; `first` is the first step that it represents.
    void add(std::int64_t first, const taught_report& round);

    friend bool operator==(const published_record&, const published_record&) = default;

private:
    /// Compares without digits: a file is named by its step, so each attempt fails with other
    /// numbers.
    static bool is_same(std::string_view a, std::string_view b);
};

}  // namespace sotto::detail

#ifndef SOTTO_SEPARATE_COMPILATION
#include "sotto/logging/detail/published_record.ipp"
#endif
