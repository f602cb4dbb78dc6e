#pragma once

#include <optional>
#include <string>

#include "sotto/core/config.hpp"

namespace sotto {

/// The file in which a server records its order of arrivals, or whose order it follows, see
/// serving::record_arrivals. Each has its own: the first in PATH, others in PATH.rank1 and so on.
/// All servers share a device, such as /dev/null.
std::string arrivals_path(const std::string& path, int server);

}  // namespace sotto

namespace sotto::detail {

/// Where a server may come again: what its earlier processes wrote stays, and the next one goes on
/// in PATH.2, PATH.3 and so on, the first that is not there.
std::string free_arrivals_path(const std::string& path);

/// As it is without symbolic links, "." and "..", as far as it is there.
std::string plain_path(const std::string& path);

}  // namespace sotto::detail

namespace sotto {

/// A file that both writing `record` and following `replay` would use, whichever server does either
/// and however the file is spelt or linked to: it would be emptied before it is read. Nothing where
/// there is none, or one of the two is not asked for.
std::optional<std::string> shared_arrivals(const std::string& record, const std::string& replay,
                                           int servers);

}  // namespace sotto

namespace sotto::detail {

/// Before any of them is opened.
///   errors  invalid_option, naming both options and the file: see shared_arrivals
void require_arrivals_apart(const std::string& record, const std::string& replay, int servers);

}  // namespace sotto::detail

#ifndef SOTTO_SEPARATE_COMPILATION
#include "sotto/strategies/parameter_server/arrival_paths.ipp"
#endif
