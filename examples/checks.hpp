#pragma once

// Checks of flags that examples run before they load data or write anything. Each error names a
// flag, its value and what was expected.

#include <CLI/CLI.hpp>
#include <functional>
#include <initializer_list>
#include <string>

namespace examples {

/// Throws the error of a wrong flag, which ends the program.
///   errors  CLI::ValidationError, always
[[noreturn]] void refuse(const std::string& flag, const std::string& given,
                         const std::string& expected);

/// Checks that an option is at least 1. The message of CLI::PositiveNumber contains the largest
/// double, all 309 digits of it.
std::string at_least_one(const std::string& number);

/// Checks that an option is a whole number of 64 bits, such as a seed. CLI11 itself reads -1 as the
/// largest number.
std::string whole_number(const std::string& number);

/// Returns a check that an option is a number from `low` to `high`. It refuses NaN, which
/// CLI::Range accepts.
std::function<std::string(const std::string&)> number_from(double low, double high);

/// Returns a check that an option is a number above `low`, up to `high`. It refuses NaN.
std::function<std::string(const std::string&)> number_above(double low, double high);

/// Refuses a flag that is set but has no effect. The error contains "goes with WITH".
void require_effect(const CLI::App& app, const std::string& flag, bool has_effect,
                    const std::string& with);

/// A flag and the file that it names; an empty name: no file.
struct named_file {
    std::string flag, file;
    bool whole = false;  // replaced whole, as a report is: never a device
};
using named_files = std::initializer_list<named_file>;

/// Refuses files that cannot be written, and two flags that name the same file, unless it is a
/// device. Creates missing folders, but does not create or change the files.
void require_writable(named_files files);

/// Refuses a file that cannot be read.
void require_readable(const std::string& flag, const std::string& file);

/// Creates the folder if it is missing. Refuses it if that fails or it is not writable.
void require_folder(const std::string& flag, const std::string& folder);

}  // namespace examples
