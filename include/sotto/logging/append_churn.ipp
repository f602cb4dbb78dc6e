#pragma once

#include "sotto/logging/append_churn.hpp"

#include <filesystem>
#include <system_error>

#include <nlohmann/json.hpp>

#include "sotto/core/config.hpp"
#include "sotto/core/detail/files/line_file.hpp"
#include "sotto/core/errors.hpp"
#include "sotto/logging/detail/json_text.hpp"

namespace sotto {

SOTTO_DECL void append_churn(const std::string& log, const std::string& to, const churn& found) {
    const auto fail = [&](const std::error_code& reason) {
        throw io_failure("append_churn: '" + log + "' cannot be written: " + reason.message());
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
