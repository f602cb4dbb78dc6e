#pragma once

#include "sotto/strategies/parameter_server/arrival_paths.hpp"

#include <algorithm>
#include <system_error>
#include <vector>

#include "sotto/core/config.hpp"
#include "sotto/core/detail/files/file_kind.hpp"
#include "sotto/core/errors.hpp"

namespace sotto {

SOTTO_DECL std::filesystem::path arrivals_path(const std::filesystem::path& path, int server) {
    if (server == 0 || detail::is_device(path)) return path;
    return path.string() + ".rank" + std::to_string(server);
}

}  // namespace sotto

namespace sotto::detail {

SOTTO_DECL std::filesystem::path free_arrivals_path(const std::filesystem::path& path) {
    std::filesystem::path found = path;
    if (detail::is_device(path)) return found;
    for (int process = 2; std::filesystem::exists(found); ++process)
        found = path.string() + "." + std::to_string(process);
    return found;
}

SOTTO_DECL std::string plain_path(const std::filesystem::path& path) {
    std::error_code reason;
    std::filesystem::path plain =
        std::filesystem::weakly_canonical(std::filesystem::absolute(path, reason), reason);
    return (reason ? path : plain).string();
}

}  // namespace sotto::detail

namespace sotto {

SOTTO_DECL std::optional<std::filesystem::path> shared_arrivals(const std::filesystem::path& record,
                                                                const std::filesystem::path& replay,
                                                                int servers) {
    if (record.empty() || replay.empty()) return std::nullopt;
    std::vector<std::filesystem::path> written;
    std::vector<std::string> plain;
    for (int server = 0; server < servers; ++server) {
        written.push_back(arrivals_path(record, server));
        plain.push_back(detail::plain_path(written.back()));
    }
    for (int server = 0; server < servers; ++server) {
        const std::filesystem::path read = arrivals_path(replay, server);
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

SOTTO_DECL void require_arrivals_apart(const std::filesystem::path& record,
                                       const std::filesystem::path& replay, int servers) {
    if (const auto shared = shared_arrivals(record, replay, servers))
        throw invalid_option("parameter_server: record_arrivals '" + record.string() +
                             "' and replay_arrivals '" + replay.string() + "' are both of '" +
                             shared->string() +
                             "', which would be emptied before it is read; give another file to "
                             "record in");
}

}  // namespace sotto::detail
