#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "sotto/core/bytes.hpp"
#include "sotto/core/config.hpp"
#include "sotto/core/result.hpp"
#include "sotto/wire/detail/coding/little_endian.hpp"

namespace sotto::detail::wire {

/// What a rank knows when it has heard of a failure, or leaves: who failed, and which polls are
/// complete.
struct membership_report {
    /// Where a ballot stands.
    struct poll {
        std::uint64_t ballot = 0;     // its number
        std::uint64_t completed = 0;  // polls
        bool verdict = false;         // of the last one
        friend bool operator==(const poll&, const poll&) = default;
    };

    std::uint32_t first = 0;            // the first rank that failed
    std::uint8_t code = 0;              // as an errc
    std::string cause;                  // for people
    std::vector<std::uint32_t> failed;  // ascending; `first` is one of them, if there are any
    std::vector<poll> polls;            // ascending by ballot
    friend bool operator==(const membership_report&, const membership_report&) = default;
};

constexpr std::size_t report_cause_max = 1024, report_polls_max = 4096;  // bounds of what is read

inline namespace SOTTO_UNIT {

/// Bytes of the longest report in a world of this size.
constexpr std::size_t report_bytes_max(std::size_t world) noexcept {
    return 20 + report_cause_max + 4 * world + 17 * report_polls_max;
}

/// Appends a report; what is beyond the limits of cause and polls is left out.
///   wire    | bytes  | content, little endian                                              |
///           | 4      | the first rank that failed                                          |
///           | 4      | its errc, below 256                                                 |
///           | 4      | c <= 1024, bytes of the cause                                       |
///           | 4      | f, ranks that failed                                                |
///           | 4      | p <= 4096, ballots                                                  |
///           | c      | the cause                                                           |
///           | 4 f    | the ranks, ascending                                                |
///           | 17 p   | for each ballot, ascending: 8 key, 8 polls completed, 1 verdict     |
void append_report(const membership_report& report, bytes& out);

/// Reads a report of a world of so many ranks.
///   errors  refuses counts beyond the limits, any other length, ranks that do not exist or do not
///           ascend, ballots that do not ascend, and bytes that are not as above
result<membership_report> read_report(byte_view in, std::uint32_t world);

}  // namespace SOTTO_UNIT

}  // namespace sotto::detail::wire

#ifndef SOTTO_SEPARATE_COMPILATION
#include "sotto/wire/detail/protocols/membership_report.ipp"
#endif
