#pragma once

// What examples refuse before they load data or write anything: each error names a flag, the value
// it was given and what was expected.

#include <CLI/CLI.hpp>
#include <functional>
#include <initializer_list>
#include <string>

namespace examples {

/// Ends the program as any wrong flag does.
///   errors  CLI::ValidationError, always
[[noreturn]] void refuse(const std::string& flag, const std::string& given,
                         const std::string& expected);

/// Not CLI::PositiveNumber: its message ends in the largest double, all 309 digits of it.
std::string at_least_one(const std::string& number);

/// A seed. CLI11 takes -1 for the largest number that there is.
std::string whole_number(const std::string& number);

/// A check of an option: a number from `low` to `high`, so not a NaN, which CLI::Range lets pass.
std::function<std::string(const std::string&)> number_from(double low, double high);

/// The same without `low` itself: a rate, a share of something.
std::function<std::string(const std::string&)> number_above(double low, double high);

/// Refuses a flag that was given where it does nothing: "goes with WITH".
void require_effect(const CLI::App& app, const std::string& flag, bool has_effect,
                    const std::string& with);

/// A flag and the file that it names; an empty name is none.
struct named_file {
    std::string flag, file;
    bool whole = false;  // it is replaced whole, as a report is: a device cannot be
};
using named_files = std::initializer_list<named_file>;

/// Refuses files that cannot be written, and two flags that name one. Folders on the way are made,
/// as writing would; none of the files is made or changed.
void require_writable(named_files files);

/// Refuses a file that cannot be read.
void require_readable(const std::string& flag, const std::string& file);

/// Refuses a folder that cannot be made, or in which no file can be made.
void require_folder(const std::string& flag, const std::string& folder);

}  // namespace examples
