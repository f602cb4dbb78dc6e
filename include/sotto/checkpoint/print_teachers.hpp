#pragma once

#include <cstdint>
#include <cstdio>
#include <string>

#include "sotto/checkpoint/detail/file_system.hpp"
#include "sotto/checkpoint/detail/posix_files.hpp"
#include "sotto/checkpoint/detail/published_model.hpp"

namespace sotto::detail::checkpoint {

/// "1.5 MiB", "12 MiB".
std::string with_unit(double value, const char* unit);

/// A size, for people.
std::string in_bytes(std::int64_t bytes);

/// An age, for people. Where clocks differ a file may be newer than now.
std::string ago(double seconds);

/// What is in the folder of one group.
struct listed_group {
    int group = 0;
    published_survey found{};
    std::string unreadable{};  // why
    std::string written = "unknown";
};

/// Reads the newest model of a group whole.
listed_group look_at(posix_files& files, const std::string& folder, int group);

/// What is wrong with a group's models; "whole": nothing. `first` is the group that others are
/// compared with.
std::string health_of(const listed_group& about, const listed_group* first);

/// A group in one line.
std::string text_of(const listed_group& about, const std::string& health);

}  // namespace sotto::detail::checkpoint

namespace sotto {

/// Prints a line about each group that has published models in a folder, as checkpoint_exchange
/// and `publish` write them and finished_models reads them: what is known of its newest whole
/// model, and at the end "whole", or what is wrong. The program `sotto_teachers` prints the same,
/// and says what each word means.
///   cost    every byte of the newest models is read and checked
///   errors  invalid_option: the folder cannot be listed; io_failure: it has no group
/// Returns whether the models of all groups are whole, finite and of one architecture.
bool print_teachers(const std::string& folder, std::FILE* to = stdout);

}  // namespace sotto

#ifndef SOTTO_SEPARATE_COMPILATION
#include "sotto/checkpoint/print_teachers.ipp"
#endif
