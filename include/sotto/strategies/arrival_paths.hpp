#pragma once

#include <algorithm>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>

#include "sotto/core/errors.hpp"

namespace sotto {

/// Each server has an order of its own: the first in PATH, others in PATH.rank1 and so on.
inline std::filesystem::path arrivals_path(const std::filesystem::path& path, int server) {
    return server == 0 ? path
                       : std::filesystem::path(path.string() + ".rank" + std::to_string(server));
}

/// Where a server may come again: what its earlier processes wrote stays, and the next one goes on
/// in PATH.2, PATH.3 and so on, the first that is not there.
inline std::filesystem::path free_arrivals_path(const std::filesystem::path& path) {
    std::filesystem::path found = path;
    for (int process = 2; std::filesystem::exists(found); ++process)
        found = path.string() + "." + std::to_string(process);
    return found;
}

namespace detail {

/// As it is without symbolic links, "." and "..", as far as it is there.
inline std::string plain_path(const std::filesystem::path& path) {
    std::error_code reason;
    std::filesystem::path plain =
        std::filesystem::weakly_canonical(std::filesystem::absolute(path, reason), reason);
    return (reason ? path : plain).string();
}

/// Whether a file is the order of some server that is recorded in, or followed from, `base`.
inline bool is_arrivals_of(std::string_view file, std::string_view base) {
    if (!file.starts_with(base)) return false;
    file.remove_prefix(base.size());
    if (file.empty()) return true;
    constexpr std::string_view rank = ".rank";
    if (!file.starts_with(rank) || file.size() == rank.size()) return false;
    file.remove_prefix(rank.size());
    return std::all_of(file.begin(), file.end(), [](char c) { return c >= '0' && c <= '9'; });
}

}  // namespace detail

/// A file that both writing `record` and following `replay` would use, whichever server does either
/// and however the file is spelt or linked to: it would be emptied before it is read. Nothing where
/// there is none, or one of the two is not asked for.
inline std::optional<std::filesystem::path> shared_arrivals(const std::filesystem::path& record,
                                                            const std::filesystem::path& replay,
                                                            int servers) {
    if (record.empty() || replay.empty()) return std::nullopt;
    const std::string written = detail::plain_path(record), read = detail::plain_path(replay);
    if (detail::is_arrivals_of(read, written) || detail::is_arrivals_of(written, read))
        return replay;
    for (int a = 0; a < servers; ++a)
        for (int b = 0; b < servers; ++b) {
            const std::filesystem::path out = arrivals_path(record, a),
                                        in = arrivals_path(replay, b);
            std::error_code reason;  // one that is not there is no other's
            if (std::filesystem::equivalent(out, in, reason) && !reason) return in;
            if (detail::plain_path(out) == detail::plain_path(in)) return in;
        }
    return std::nullopt;
}

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

}  // namespace sotto
