#pragma once

#include <string>
#include <optional>
#include <span>
#include <vector>

#include "sotto/logging/run_log.hpp"

namespace sotto::detail {
/// Returns nothing if the file has no whole line.
std::optional<run_log> read_lines(const std::string& path, std::FILE* file);
}  // namespace sotto::detail

namespace sotto {

/// Reads a run from the log that json_lines wrote, for a program that continues an earlier run if
/// there was one. Returns nothing if the file does not exist or has no whole line. Never blocks: a
/// FIFO or a device stores nothing of an earlier run.
///   errors  those of read_json_lines
std::optional<run_log> read_json_lines_if_there(const std::string& path);

/// Reads a run from the log that json_lines wrote. Its name is that of the file without folder and
/// extension. A log with several run lines is one run. If a crash cut off the last line, the run
/// ends before it, and its diagnostics report that. The log may belong to a running job, and may be
/// a FIFO or a pipe, which is read to its end.
///   errors  io_failure, naming the file and the system's reason; malformed_log, naming file, line,
///           what was expected and what was found, also for a file without one whole line
run_log read_json_lines(const std::string& path);

/// Reads several runs. If files have the same name, their runs' names include as many of the
/// folders as needed to differ.
std::vector<run_log> read_json_lines(std::span<const std::string> paths);

}  // namespace sotto

#ifndef SOTTO_SEPARATE_COMPILATION
#include "sotto/logging/read_json_lines.ipp"
#endif
