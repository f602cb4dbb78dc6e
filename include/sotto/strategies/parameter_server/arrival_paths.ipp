#pragma once

#include "sotto/strategies/parameter_server/arrival_paths.hpp"

#include <algorithm>
#include <filesystem>
#include <system_error>
#include <vector>

#include "sotto/core/config.hpp"
#include "sotto/core/detail/files/file_kind.hpp"
#include "sotto/core/errors.hpp"

namespace sotto {

SOTTO_DECL std::string arrivals_path(const std::string& path, int server) {
    if (server == 0 || detail::is_device(path)) return path;
    return path + ".rank" + std::to_string(server);
}

}  // namespace sotto

namespace sotto::detail {

SOTTO_DECL std::string free_arrivals_path(const std::string& path) {
    std::string found = path;
    if (detail::is_device(path)) return found;
    for (int process = 2; std::filesystem::exists(found); ++process)
        found = path + "." + std::to_string(process);
    return found;
}

SOTTO_DECL std::string plain_path(const std::string& path) {
    std::error_code reason;
    std::filesystem::path plain =
        std::filesystem::weakly_canonical(std::filesystem::absolute(path, reason), reason);
    return reason ? path : plain.string();
}

}  // namespace sotto::detail

namespace sotto {

SOTTO_DECL std::optional<std::string> shared_arrivals(const std::string& record,
                                                      const std::string& replay, int servers) {
    if (record.empty() || replay.empty()) return std::nullopt;
    std::vector<std::string> written;
    std::vector<std::string> plain;
    for (int server = 0; server < servers; ++server) {
        written.push_back(arrivals_path(record, server));
        plain.push_back(detail::plain_path(written.back()));
    }
    for (int server = 0; server < servers; ++server) {
        const std::string read = arrivals_path(replay, server);
        std::error_code reason;  // one that is not there is linked to no other
        const bool is_linked = std::filesystem::exists(read, reason) &&
                               std::any_of(written.begin(), written.end(), [&](const auto& out) {
                                   return std::filesystem::equivalent(out, read, reason);
                               });
        if (is_linked || std::ranges::count(plain, detail::plain_path(read)) > 0) return read;
    }
    return std::nullopt;
}

}  // namespace sotto

namespace sotto::detail {

SOTTO_DECL void require_arrivals_apart(const std::string& record, const std::string& replay,
                                       int servers) {
    if (const auto shared = shared_arrivals(record, replay, servers))
        throw invalid_option("parameter_server: record_arrivals '" + record +
                             "' and replay_arrivals '" + replay + "' are both of '" + *shared +
                             "', which would be emptied before it is read; give another file to "
                             "record in");
}

}  // namespace sotto::detail
