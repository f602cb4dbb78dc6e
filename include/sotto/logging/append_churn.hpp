#pragma once

#include <filesystem>
#include <string>
#include <system_error>

#include <nlohmann/json.hpp>

#include "sotto/core/errors.hpp"
#include "sotto/core/detail/files/line_file.hpp"
#include "sotto/models/churn.hpp"
#include "sotto/logging/detail/json_text.hpp"

namespace sotto {

/// Adds to the log of a run how much predictions changed from its model to another, for the report
/// to draw: `append_churn("run.jsonl", "the same with another seed", churn_between(a, b, 10))`.
///   wire    one JSON line: event "churn", to, difference, flips, examples
///   errors  io_failure, naming the file and the system's reason: there is no such log, or it
///           cannot be written
inline void append_churn(const std::filesystem::path& log, const std::string& to,
                         const churn& found) {
    const auto fail = [&](const std::error_code& reason) {
        throw io_failure("append_churn: '" + log.string() +
                         "' cannot be written: " + reason.message());
    };
    std::error_code reason;
    if (!std::filesystem::exists(log, reason))
        fail(reason ? reason : std::make_error_code(std::errc::no_such_file_or_directory));
    const nlohmann::ordered_json line{{"event", "churn"},
                                      {"to", to},
                                      {"difference", found.difference},
                                      {"flips", found.flips},
                                      {"examples", found.examples}};
    detail::line_file file(log);
    reason = file.write(detail::json_text(line));
    if (reason) fail(reason);
}

}  // namespace sotto
