#pragma once

#include <string>
#include <optional>
#include <span>
#include <vector>

#include "sotto/logging/run_log.hpp"

namespace sotto::detail {
/// Nothing where there is no whole line.
std::optional<run_log> read_lines(const std::string& path, std::FILE* file);
}  // namespace sotto::detail

namespace sotto {

/// A run from the log that json_lines wrote of it, or nothing where there is no file, or no whole
/// line in it: for a program that goes on where an earlier one ended, if there was one. It never
/// blocks: a FIFO or a device keeps nothing of an earlier run.
///   errors  see read_json_lines
std::optional<run_log> read_json_lines_if_there(const std::string& path);

/// A run from the log that json_lines wrote of it, named as the file is without its folder and
/// extension. A log that goes on in the same file, with another run line, is one run. If a
/// crash cut off the last line, the run is the lines before it, and its diagnostics say so. The log
/// of a running job can be read too, and a FIFO or a pipe up to its end.
///   errors  throws io_failure, naming the file and the system's reason; malformed_log, naming
///           file, line, what was expected and what found, also for a file without one whole
///           line
run_log read_json_lines(const std::string& path);

/// Several of them, told apart: where files have one name, those runs have as many of the folders
/// before it as it takes.
std::vector<run_log> read_json_lines(std::span<const std::string> paths);

}  // namespace sotto

#ifndef SOTTO_SEPARATE_COMPILATION
#include "sotto/logging/read_json_lines.ipp"
#endif
