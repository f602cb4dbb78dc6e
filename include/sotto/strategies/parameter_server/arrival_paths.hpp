#pragma once

#include <algorithm>
#include <filesystem>
#include <optional>
#include <string>
#include <system_error>
#include <vector>

#include "sotto/core/errors.hpp"
#include "sotto/core/detail/files/file_kind.hpp"

namespace sotto {

/// The file in which a server records its order of arrivals, or whose order it follows, see
/// serving::record_arrivals. Each has its own: the first in PATH, others in PATH.rank1 and so on.
/// All servers share a device, such as /dev/null.
inline std::filesystem::path arrivals_path(const std::filesystem::path& path, int server) {
    if (server == 0 || detail::is_device(path)) return path;
    return path.string() + ".rank" + std::to_string(server);
}

}  // namespace sotto

namespace sotto::detail {

/// Where a server may come again: what its earlier processes wrote stays, and the next one goes on
/// in PATH.2, PATH.3 and so on, the first that is not there.
inline std::filesystem::path free_arrivals_path(const std::filesystem::path& path) {
    std::filesystem::path found = path;
    if (detail::is_device(path)) return found;
    for (int process = 2; std::filesystem::exists(found); ++process)
        found = path.string() + "." + std::to_string(process);
    return found;
}

/// As it is without symbolic links, "." and "..", as far as it is there.
inline std::string plain_path(const std::filesystem::path& path) {
    std::error_code reason;
    std::filesystem::path plain =
        std::filesystem::weakly_canonical(std::filesystem::absolute(path, reason), reason);
    return (reason ? path : plain).string();
}

}  // namespace sotto::detail

namespace sotto {

/// A file that both writing `record` and following `replay` would use, whichever server does either
/// and however the file is spelt or linked to: it would be emptied before it is read. Nothing where
/// there is none, or one of the two is not asked for.
inline std::optional<std::filesystem::path> shared_arrivals(const std::filesystem::path& record,
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

/// Before any of them is opened.
///   errors  invalid_option, naming both options and the file: see shared_arrivals
inline void require_arrivals_apart(const std::filesystem::path& record,
                                   const std::filesystem::path& replay, int servers) {
    if (const auto shared = shared_arrivals(record, replay, servers))
        throw invalid_option("parameter_server: record_arrivals '" + record.string() +
                             "' and replay_arrivals '" + replay.string() + "' are both of '" +
                             shared->string() +
                             "', which would be emptied before it is read; give another file to "
                             "record in");
}

}  // namespace sotto::detail
