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

/// Of more than these, a log tells nothing but how many were heard.
inline constexpr std::size_t teachers_max = 4096;

/// The reason that name_of calls so.
std::optional<left_out> reason_named(std::string_view name) noexcept;

/// Writes what teachers taught in a step as json_lines does. All but details is in each line, some
/// 50 bytes a teacher, so that every line can be understood alone and any may be missing; details
/// and problems are sentences that stay the same for an interval or for ever, and are in the first
/// line alone.
class taught_writer {
public:
    /// A file or a call of `fit` begins.
    void begin();

    /// A step, of which there may be a line or not. Whether one would have something to tell.
    bool count(const taught_report& round);

    nlohmann::ordered_json fields_of(const taught_report& round);

    /// A line got lost: all details are new again, and so is the problem, even if there is none.
    void forget() noexcept;

private:
    std::vector<std::string> written_;           // details, by the standings
    std::optional<std::string> problem_{""};     // as it was written; none: nobody knows
    std::int64_t bytes_sent_ = 0, skipped_ = 0;  // in all
};

}  // namespace sotto::detail

#ifndef SOTTO_SEPARATE_COMPILATION
#include "sotto/logging/detail/taught_lines.ipp"
#endif
