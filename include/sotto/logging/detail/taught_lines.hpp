#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "sotto/strategies/detail/codistillation/teacher_status.hpp"
#include "sotto/strategies/round_report.hpp"

namespace sotto::detail {

/// With more teachers a log lists only these, and the number used.
inline constexpr std::size_t teachers_max = 4096;

/// Returns the reason with this name_of.
std::optional<left_out> reason_named(std::string_view name) noexcept;

/// Writes the effects of teachers in a step in the format of json_lines. Each line has everything
/// except details, some 50 bytes a teacher. So every line is readable alone, and any may be
/// missing. Details and problems are sentences that rarely change; only the first line has them.
class taught_writer {
public:
    /// Begins a file or a call of `fit`.
    void begin();

    /// Counts a step, with or without a line. Returns true if its line needs a "taught".
    bool count(const taught_report& round);

    nlohmann::ordered_json fields_of(const taught_report& round);

    /// After a lost line: all details are new again, and so is the problem, even if there is none.
    void forget() noexcept;

private:
    std::vector<std::string> written_;           // details as written, by place in the standings
    std::optional<std::string> problem_{""};     // problem as written; empty optional: unknown
    std::int64_t bytes_sent_ = 0, skipped_ = 0;  // totals
};

}  // namespace sotto::detail

#ifndef SOTTO_SEPARATE_COMPILATION
#include "sotto/logging/detail/taught_lines.ipp"
#endif
