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

/// Knowledge of a rank after a failure, or when it leaves: failed ranks and complete polls.
struct membership_report {
    /// State of a ballot.
    struct poll {
        std::uint64_t ballot = 0;     // number of the ballot
        std::uint64_t completed = 0;  // number of complete polls
        bool verdict = false;         // result of the last one
        friend bool operator==(const poll&, const poll&) = default;
    };

    std::uint32_t first = 0;            // first rank that failed
    std::uint8_t code = 0;              // kind of its failure, as an errc
    std::string cause;                  // for people
    std::vector<std::uint32_t> failed;  // ascending; contains `first`, unless empty
    std::vector<poll> polls;            // ascending by ballot
    friend bool operator==(const membership_report&, const membership_report&) = default;
};

constexpr std::size_t report_cause_max = 1024, report_polls_max = 4096;  // limits for readers

inline namespace SOTTO_UNIT {

/// Returns the bytes of the longest report in a world of this size.
constexpr std::size_t report_bytes_max(std::size_t world) noexcept {
    return 20 + report_cause_max + 4 * world + 17 * report_polls_max;
}

/// Appends a report, without the parts beyond the limits of cause and polls.
///   wire    | bytes  | content, little endian                                              |
///           | 4      | the first rank that failed                                          |
///           | 4      | its errc, below 256                                                 |
///           | 4      | c <= 1024, bytes of the cause                                       |
///           | 4      | f, number of ranks that failed                                      |
///           | 4      | p <= 4096, number of ballots                                        |
///           | c      | the cause                                                           |
///           | 4 f    | the ranks, ascending                                                |
///           | 17 p   | for each ballot, ascending: 8 key, 8 polls completed, 1 verdict     |
void append_report(const membership_report& report, bytes& out);

/// Reads a report in a world of `world` ranks.
///   errors  refuses counts beyond the limits, any other length, ranks that do not exist or do not
///           ascend, ballots that do not ascend, and bytes that are not as above
result<membership_report> read_report(byte_view in, std::uint32_t world);

}  // namespace SOTTO_UNIT

}  // namespace sotto::detail::wire

#ifndef SOTTO_SEPARATE_COMPILATION
#include "sotto/wire/detail/protocols/membership_report.ipp"
#endif
